#ifndef SLIMPACK_COSTS_DETAIL_VOCABULARY_BYTES_HPP
#define SLIMPACK_COSTS_DETAIL_VOCABULARY_BYTES_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>

namespace slimpack::detail {

/// Bytes that a rank sends of a token in a message of a spread vocabulary, `row` being those of its share of a hidden
/// row. A partial result is the gradient so far and the target's row, and three numbers in fp32: largest logit, sum of
/// exponentials, the target's logit. Statistics are two of them.
/// Source    derived (core/wiring/step_kinds.hpp)
[[nodiscard]] constexpr double vocabulary_bytes(message_kind rows, double row, const shape& on) noexcept {
  switch (rows) {
    case message_kind::partial:
      return 2 * row + 12.0 / on.context;
    case message_kind::statistics:
      return 8.0 / on.context;
    default:
      return row;
  }
}

}  // namespace slimpack::detail

#endif
