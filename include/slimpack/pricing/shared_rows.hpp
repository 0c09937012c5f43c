#ifndef SLIMPACK_PRICING_SHARED_ROWS_HPP
#define SLIMPACK_PRICING_SHARED_ROWS_HPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/partition.hpp>
#include <slimpack/core/shared_row.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
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
    const auto each_slice = [&](pass p, const std::vector<pack_id>& row_packs, const auto& visit) {
      for (std::size_t k = 0; k < row_packs.size(); ++k) {
        if (row_packs[k] == merge::none) continue;
        for (const slice& s : packs_of(m.replicas[k]).of(p)[row_packs[k].value])
          if (s.sequence == m.sequence) visit(k, s);
      }
    };
    std::vector<tokens> last(m.replicas.size());  // where each sharer's last token ends
    std::vector<bool> found(m.replicas.size());
    for (std::size_t row = m.forward.size(); row-- > 0 && std::find(found.begin(), found.end(), false) != found.end();) {
      const std::vector<bool> later = found;
      each_slice(pass::forward, m.forward[row], [&](std::size_t k, const slice& s) {
        if (!later[k]) last[k] = std::max(last[k], s.end()), found[k] = true;
      });
    }
    for (const pass p : both_passes) {
      const std::size_t first = rows.size();
      tokens waiting{};  // of the others in rows without own tokens, until the next own row forward
      for (const std::vector<pack_id>& packs : m.of(p)) {
        shared_row row{m.sequence, p, packs[place], {}, m.replicas, {}, m.exchange};
        each_slice(p, packs, [&](std::size_t k, const slice& s) {
          row.begin = row.end > tokens{} ? std::min(row.begin, s.begin) : s.begin;
          row.end = std::max(row.end, s.end());
          if (m.exchange != exchange::keep) return;
          const auto needed_by = [&](std::size_t to) { return std::max(tokens{}, std::min(s.end(), last[to]) - s.begin); };
          if (k != place) row.others += needed_by(place);
          for (std::size_t to = 0; k == place && to < last.size(); ++to)
            if (to != place) row.sent += needed_by(to);
        });
        if (row.pack == merge::none) {
          // Backward they are owed with the own row before; where there is none, the row has no token that is needed.
          if (p == pass::forward)
            waiting += row.others;
          else if (rows.size() > first)
            rows.back().others += row.others;
          continue;
        }
        row.others += std::exchange(waiting, tokens{});
        rows.push_back(row);
      }
    }
  }
  return rows;
}

}  // namespace slimpack::simulators

#endif
