#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_TURNED_ROWS_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_TURNED_ROWS_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/messages/memory_block.hpp>
#include <slimpack/executors/detail/piece_list.hpp>
#include <slimpack/executors/piece.hpp>

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Gradients of hidden rows on the last stage: from V there, which gives them for a forward pack, to the B of the last
/// part that takes them for a backward pack, which is cut otherwise. Backward takes each sequence from its end, so the
/// rows of a sequence are a stack. A pack's memory is let go with its last row.
class turned_rows {
 public:
  /// ids: one past the largest id of a sequence; bytes_of_row: of a token
  turned_rows(std::size_t ids, std::size_t bytes_of_row) : stacks_(ids), row_(bytes_of_row) {}

  /// Keeps the rows of a forward pack, piece after piece.
  void keep(std::span<const piece> pack, const memory_block& rows) {
    std::size_t first = 0;
    for (const piece& one : pack) {
      const auto length = static_cast<std::size_t>(one.slice.length.value);
      stacks_[one.slice.sequence.value].push_back({rows, first, length});
      first += length;
    }
  }

  /// Hands out the rows of a backward pack, piece after piece: copy(rows, where they go) copies them, which lie in one
  /// piece each. let_go(memory): of rows that have been handed out, by all who had some of it
  /// Requires  that they were kept
  template <class Copy, class LetGo>
  result<void> take(std::span<const piece> pack, std::span<std::byte> to, const Copy& copy, const LetGo& let_go) {
    std::size_t first = 0;
    for (const piece& one : pack) {
      const auto length = static_cast<std::size_t>(one.slice.length.value);
      for (std::size_t left = length; left > 0;) {
        stack& rows = stacks_[one.slice.sequence.value];
        SLIMPACK_ASSERT(!rows.empty(), "a backward comes after the output layer of its sequences");
        run& last = rows.back();
        const std::size_t n = std::min(left, last.length);
        left -= n, last.length -= n;
        const std::span<const std::byte> from =
            std::span<const std::byte>(last.rows.bytes).subspan((last.first + last.length) * row_, n * row_);
        if (result<void> copied = copy(from, to.subspan((first + left) * row_, n * row_)); !copied) return copied;
        if (last.length > 0) continue;
        let_go(std::move(last.rows));
        rows.pop_back();
      }
      first += length;
    }
    return success();
  }

 private:
  /// Neighbouring tokens of a sequence.
  struct run {
    memory_block rows;    // of a pack
    std::size_t first{};  // row of it
    std::size_t length{};
  };
  using stack = boost::container::small_vector<run, few_pieces>;

  std::vector<stack> stacks_;  // per sequence, tokens ascending
  std::size_t row_;
};

}  // namespace slimpack::detail

#endif
