#ifndef SLIMPACK_SOLVERS_DIVIDE_SHARER_SLICES_HPP
#define SLIMPACK_SOLVERS_DIVIDE_SHARER_SLICES_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/solvers/exchange_set.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::detail {

/// What one sharer of a run of tokens runs of it, front to back; each may be empty.
using sharer_slices = std::array<slice, 3>;

/// Splits tokens [from.begin, from.end()) among m sharers so that each has as many, and under causal attention as many
/// pairs, as quanta allow. Quanta that do not make 2 m equal slices are the run's first, where they are cheapest, and
/// go to the sharers in turn, the first ones having one more. Of 2 m slices after them sharer j takes j and 2 m - 1 -
/// j.
/// Source    head and tail pairs of causal context parallelism, here for any m and length; derived
/// Law       the slices of all sharers tile the run; cuts are quanta after its begin; each of m sharers has some where
///           there are m quanta
/// Requires  0 <= sharer < sharers            Complexity  O(1)
[[nodiscard]] constexpr sharer_slices slices_of_sharer(const slice& from, std::int64_t sharer, std::int64_t sharers,
                                                       tokens quantum) noexcept {
  const std::int64_t quanta = (from.length.value + quantum.value - 1) / quantum.value;
  const std::int64_t uneven = quanta % (2 * sharers);
  const std::int64_t each = quanta / (2 * sharers);
  const auto run = [&](std::int64_t first, std::int64_t last) {
    const tokens end = std::min(from.end(), from.begin + quantum * last);
    const tokens begin = std::min(end, from.begin + quantum * first);
    return slice{from.sequence, begin, end - begin};
  };
  const auto before = [&](std::int64_t j) { return j * (uneven / sharers) + std::min(j, uneven % sharers); };
  const auto after = [&](std::int64_t k) { return uneven + k * each; };
  return {run(before(sharer), before(sharer + 1)), run(after(sharer), after(sharer + 1)),
          run(after(2 * sharers - 1 - sharer), after(2 * sharers - sharer))};
}

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
