#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_MIXERS_MIXER_CHOICE_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_MIXERS_MIXER_CHOICE_HPP

namespace train {

/// What mixes the tokens of a sequence in a layer.
enum class mixer_kind : unsigned char {
  full,    ///< attention to all tokens before
  window,  ///< attention to the last ones
  linear,  ///< a state that every token goes into (gated_recurrence.hpp)
};

/// The mixer of a layer.
struct mixer_choice {
  mixer_kind kind{mixer_kind::full};
  int window{};  ///< of mixer_kind::window: a token attends to itself and to window - 1 tokens right before it

  [[nodiscard]] constexpr bool has_state() const noexcept { return kind == mixer_kind::linear; }

  friend constexpr bool operator==(const mixer_choice&, const mixer_choice&) = default;
};

}  // namespace train

#endif
