#ifndef SLIMPACK_SOLVERS_DIVIDE_DETAIL_LIKELY_ROW_HPP
#define SLIMPACK_SOLVERS_DIVIDE_DETAIL_LIKELY_ROW_HPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shared_row.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/solvers/exchange_set.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::detail {

/// A row before there are packs of it, of which a sharer runs `mine`: all of its tokens are needed everywhere, which is
/// so but for the tails of the last.
[[nodiscard]] inline shared_row likely_row(const slice& row, pass p, std::span<const slice> mine,
                                           std::span<const std::uint32_t> sharers, exchange how) {
  shared_row made{row.sequence, p, {}, row.end(), sharers, row.begin, how};
  if (how != exchange::keep) return made;
  tokens own{};
  for (const slice& s : mine) own += s.length;
  made.others = row.length - own;
  made.sent = own * static_cast<std::int64_t>(sharers.size() - 1);
  return made;
}

/// Whether the cost model takes no time for what two sharers of the longest sequence exchange.
template <class Cost>
[[nodiscard]] bool exchange_is_free(const Cost& cost, std::span<const sequence> batch, tokens quantum, int part,
                                    const exchange_set& with) {
  const auto longest = std::max_element(batch.begin(), batch.end(),
                                        [](const sequence& a, const sequence& b) { return a.length < b.length; });
  if (longest == batch.end() || with.empty()) return false;
  const slice mine{longest->id, {0}, std::min(longest->length, quantum)};
  const std::uint32_t sharers[]{0, 1};
  const auto takes = [&](pass p) {
    const shared_row shared =
        likely_row({longest->id, {0}, longest->length}, p, std::span(&mine, 1), sharers, with.best(1));
    return exchange_time(cost, shared, std::span(&mine, 1), p, part) > seconds{};
  };
  return std::none_of(std::begin(both_passes), std::end(both_passes), takes);
}

}  // namespace slimpack::detail

#endif
