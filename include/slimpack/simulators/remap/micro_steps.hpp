#ifndef SLIMPACK_SIMULATORS_REMAP_MICRO_STEPS_HPP
#define SLIMPACK_SIMULATORS_REMAP_MICRO_STEPS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::simulators {

/// The packs of one pass that replicas run side by side: of each micro-step the pack of each replica, or merge::none.
/// A replica's packs come in run order, those of a row are of one micro-step, and each is of the first that this lets
/// it be.
/// Requires  merges that name replicas and packs there are
/// Errors    cyclic_schedule: replicas that run the rows of what they share in different orders            Complexity
///           O(micro-steps * packs)
[[nodiscard]] inline result<std::vector<std::vector<pack_id>>> micro_steps(const plan& p, pass way) {
  std::vector<std::vector<std::size_t>> step(p.replicas.size());
  std::size_t packs = 0;
  for (std::size_t r = 0; r < step.size(); ++r)
    packs += p.replicas[r].partition.of(way).size(), step[r].resize(p.replicas[r].partition.of(way).size());
  for (bool changed = true; changed;) {
    changed = false;
    const auto raise = [&](std::size_t& one, std::size_t least) {
      if (one < least) one = least, changed = true;
    };
    for (std::vector<std::size_t>& own : step)
      for (std::size_t i = 1; i < own.size(); ++i) raise(own[i], own[i - 1] + 1);
    for (const merge& m : p.merges)
      for (const std::vector<pack_id>& row : m.of(way)) {
        std::size_t last = 0;
        for (std::size_t k = 0; k < row.size(); ++k)
          if (row[k] != merge::none) last = std::max(last, step[m.replicas[k]][row[k].value]);
        for (std::size_t k = 0; k < row.size(); ++k)
          if (row[k] != merge::none) raise(step[m.replicas[k]][row[k].value], last);
      }
    for (const std::vector<std::size_t>& own : step)
      if (!own.empty() && own.back() >= packs + 1)
        return error{errc::cyclic_schedule,
                     "replicas run the rows of what they share in different orders: they have no micro-steps"};
  }
  std::vector<std::vector<pack_id>> steps;
  for (std::size_t r = 0; r < step.size(); ++r)
    for (std::size_t i = 0; i < step[r].size(); ++i) {
      while (steps.size() <= step[r][i]) steps.emplace_back(p.replicas.size(), merge::none);
      steps[step[r][i]][r] = {static_cast<std::uint32_t>(i)};
    }
  return steps;
}

}  // namespace slimpack::simulators

#endif
