#ifndef SLIMPACK_EXAMPLES_PLAN_SHARERS_HPP
#define SLIMPACK_EXAMPLES_PLAN_SHARERS_HPP

#include <slimpack/core/plan.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace cli {

/// Tokens of a row that each of those who share it has.
inline std::vector<slimpack::tokens> held_by_sharers(const slimpack::plan& p, const slimpack::merge& m,
                                                     slimpack::pass way, std::span<const slimpack::pack_id> row) {
  std::vector<slimpack::tokens> held(row.size());
  for (std::size_t k = 0; k < row.size(); ++k)
    if (row[k] != slimpack::merge::none)
      for (const slimpack::slice& s : p.replicas[m.replicas[k]].partition.of(way)[row[k].value])
        if (s.sequence == m.sequence) held[k] += s.length;
  return held;
}

}  // namespace cli

#endif
