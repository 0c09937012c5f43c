#ifndef SLIMPACK_COSTS_VOCABULARY_RATES_HPP
#define SLIMPACK_COSTS_VOCABULARY_RATES_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>

#include <cstddef>
#include <span>

namespace slimpack::costs {

/// What a call for a share of a spread vocabulary takes, or a message, for a pack of n tokens: call + token n.
/// Units     seconds
struct vocabulary_rate {
  double call{};
  double token{};

  [[nodiscard]] constexpr seconds operator()(tokens n) const noexcept {
    return {call + token * static_cast<double>(n.value)};
  }
  friend constexpr bool operator==(const vocabulary_rate&, const vocabulary_rate&) = default;
};

/// The rates of all calls and messages of a spread vocabulary (core/wiring/step_kinds.hpp), on a stage.
/// Law       a pack of all tokens takes no longer than several of them, and no less than one of fewer
/// Requires  rates not negative
struct vocabulary_rates {
  vocabulary_rate embed{};
  vocabulary_rate output{};
  vocabulary_rate output_weights{};
  vocabulary_rate embed_gradients{};
  vocabulary_rate embedded{};  ///< and messages
  vocabulary_rate hidden{};
  vocabulary_rate partial{};
  vocabulary_rate statistics{};
  vocabulary_rate gradients{};

  [[nodiscard]] constexpr const vocabulary_rate& of(instruction_kind call) const noexcept {
    switch (call) {
      case instruction_kind::embed:
        return embed;
      case instruction_kind::output:
        return output;
      case instruction_kind::output_weights:
        return output_weights;
      default:
        return embed_gradients;
    }
  }
  [[nodiscard]] constexpr const vocabulary_rate& of(message_kind rows) const noexcept {
    switch (rows) {
      case message_kind::embedded:
        return embedded;
      case message_kind::hidden:
        return hidden;
      case message_kind::partial:
        return partial;
      case message_kind::statistics:
        return statistics;
      default:
        return gradients;
    }
  }
  friend constexpr bool operator==(const vocabulary_rates&, const vocabulary_rates&) = default;
};

/// The rates on a stage.            Shapes    all: one for all stages, or one per stage
[[nodiscard]] constexpr const vocabulary_rates& rates_on(std::span<const vocabulary_rates> all, int stage) noexcept {
  return all.size() == 1 ? all.front() : all[static_cast<std::size_t>(stage)];
}

}  // namespace slimpack::costs

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
