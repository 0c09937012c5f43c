#ifndef SLIMPACK_PRICING_SHARED_ROWS_HPP
#define SLIMPACK_PRICING_SHARED_ROWS_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/partition.hpp>
#include <slimpack/core/shared_row.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::simulators {

/// The rows that a replica takes part in, merge by merge.
/// packs_of(replica): its partition
/// Requires  merges that name replicas and packs there are, and outlive the answer
/// Errors    none            Complexity  O(rows * sharers * slices of a pack)
template <class PacksOf>
[[nodiscard]] std::vector<shared_row> shared_rows(std::span<const merge> merges, const PacksOf& packs_of,
                                                  std::uint32_t replica) {
  std::vector<shared_row> rows;
  for (const merge& m : merges) {
    const auto own = std::find(m.replicas.begin(), m.replicas.end(), replica);
    if (own == m.replicas.end()) continue;
    const auto place = static_cast<std::size_t>(own - m.replicas.begin());
    // Calls visit(sharer, slice) for the row's slices.
    const auto each_slice = [&](pass p, const std::vector<pack_id>& row, const auto& visit) {
      for (std::size_t k = 0; k < row.size(); ++k)
        for (const slice& s : packs_of(m.replicas[k]).of(p)[row[k].value])
          if (s.sequence == m.sequence) visit(k, s);
    };
    tokens last{};  // where this replica's last token ends: in the last row, since it has a pack of each
    if (!m.forward.empty())
      each_slice(pass::forward, m.forward.back(), [&](std::size_t k, const slice& s) {
        if (k == place) last = std::max(last, s.end());
      });
    for (const pass p : {pass::forward, pass::backward}) {
      for (const std::vector<pack_id>& row : m.of(p)) {
        tokens end{};
        tokens others{};
        each_slice(p, row, [&](std::size_t k, const slice& s) {
          end = std::max(end, s.end());
          if (k != place) others += std::max(tokens{}, std::min(s.end(), last) - s.begin);
        });
        rows.push_back({m.sequence, p, row[place], end, m.replicas, others});
      }
    }
  }
  return rows;
}

}  // namespace slimpack::simulators

#endif
