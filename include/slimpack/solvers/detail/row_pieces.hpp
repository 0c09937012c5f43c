#ifndef SLIMPACK_SOLVERS_DETAIL_ROW_PIECES_HPP
#define SLIMPACK_SOLVERS_DETAIL_ROW_PIECES_HPP

#include <slimpack/core/slice.hpp>

#include <algorithm>
#include <cstdint>

namespace slimpack::detail {

/// The two pieces of a run of tokens that one of its sharers runs; either may be empty.
struct row_pieces {
  slice head;
  slice tail;
};

/// Splits tokens [from.begin, from.end()) in 2 m pieces; sharer j of m takes pieces j and 2 m - 1 - j, so that each
/// has as many tokens, and under causal attention as many pairs, as quanta allow.
/// Formula   c quanta are dealt as evenly as can be, what is left over one each to the last sharers, which cut in the
///           middle of the run; a sharer's share is halved, odd quanta to heads and tails in turn
/// Source    head and tail pairs of causal context parallelism, here for any m; derived
/// Law       the pieces of all sharers tile the run; cuts are quanta after its begin; each of m sharers has some where
///           there are m quanta
/// Requires  0 <= sharer < sharers            Complexity  O(sharers)
[[nodiscard]] constexpr row_pieces pieces_of(const slice& from, std::int64_t sharer, std::int64_t sharers,
                                             tokens quantum) noexcept {
  const std::int64_t quanta = (from.length.value + quantum.value - 1) / quantum.value;
  std::int64_t head = 0;       // where the sharer's head begins, in quanta
  std::int64_t tail = quanta;  // where its tail ends
  for (std::int64_t j = 0;; ++j) {
    const std::int64_t share = quanta / sharers + (j >= sharers - quanta % sharers ? 1 : 0);
    const std::int64_t heads = (share + (j + 1) % 2) / 2;
    if (j < sharer) {
      head += heads;
      tail -= share - heads;
      continue;
    }
    const auto run = [&](std::int64_t first, std::int64_t last) {
      const tokens end = std::min(from.end(), from.begin + quantum * last);
      const tokens begin = std::min(end, from.begin + quantum * first);
      return slice{from.sequence, begin, end - begin};
    };
    return {run(head, head + heads), run(tail - (share - heads), tail)};
  }
}

}  // namespace slimpack::detail

#endif
