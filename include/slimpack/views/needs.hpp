#ifndef SLIMPACK_VIEWS_NEEDS_HPP
#define SLIMPACK_VIEWS_NEEDS_HPP

#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/views.hpp>
#include <slimpack/views/detail/each_of.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace slimpack {

/// What a stage reads of a text: tokens that it embeds, or those that its predictions are compared with.
enum class token_use : unsigned char { inputs, targets };

/// Tokens that a rank needs, and when.
struct need_view {
  std::uint32_t replica{};
  std::uint32_t stage{};
  token_use use{};
  slimpack::slice tokens;     ///< of the sequence; targets are one further on than the inputs that predict them, so
                              ///< that the last is token `length`, which is for the trainer to know
  std::size_t instruction{};  ///< of the stage's program, from 0: the first that needs them
};

namespace views {

namespace detail {

/// An instruction that reads tokens.
struct reading {
  const plan* of;
  std::size_t replica;
  std::size_t stage;
  std::size_t instruction;
  token_use use;

  [[nodiscard]] const slimpack::instruction& code() const { return of->replicas[replica].programs[stage][instruction]; }
  /// Of the model's ends: F of the first and of the last part, or E and V where there are such.
  [[nodiscard]] bool reads() const {
    const slimpack::instruction& i = code();
    if (facts_of(i.kind).weight_gradients) return false;
    const bool inputs = use == token_use::inputs;
    if (has(of->shape, instruction_kind::output))
      return i.kind == (inputs ? instruction_kind::embed : instruction_kind::output);
    const auto stages = static_cast<std::size_t>(of->shape.stages);
    const auto chunks = static_cast<std::uint32_t>(of->shape.chunks);
    return inputs ? stage == 0 && i.chunk == 0 : stage + 1 == stages && i.chunk + 1 == chunks;
  }
};

struct tokens_of_reading {
  static std::span<const slice> slices(const reading& r) {
    return r.of->replicas[r.replica].partition.forward[r.code().pack.value];
  }
  static std::size_t count(const reading& r) { return r.reads() ? slices(r).size() : 0; }
  static need_view at(const reading& r, std::size_t i) {
    slice tokens = slices(r)[i];
    if (r.use == token_use::targets) tokens.begin += slimpack::tokens{1};
    return {static_cast<std::uint32_t>(r.replica), static_cast<std::uint32_t>(r.stage), r.use, tokens, r.instruction};
  }
};

}  // namespace detail

/// The tokens that a stage of a replica needs, in the order in which it needs them; none on a stage between the ends of
/// the model. Each token is there once as an input and once as a target: what a backward reads of them again, its
/// forward has read. For data that is spread over ranks: who has a token finds all that want it, and when
/// (examples/ship_tokens.cpp).
/// Law       for each use, the stages of a replica that need anything need each token of its sequences once: one stage,
///           or all where each has E and V
/// Complexity O(instructions of the stage + what it needs)
[[nodiscard]] inline auto needs(const plan& p, std::size_t replica, std::size_t stage) {
  const plan* const all = &p;
  return slimpack::detail::each_of<detail::tokens_of_reading>(
      detail::each(2 * p.replicas[replica].programs[stage].size(), [all, replica, stage](std::size_t k) {
        return detail::reading{all, replica, stage, k / 2, k % 2 == 0 ? token_use::inputs : token_use::targets};
      }));
}
void needs(const plan&&, std::size_t, std::size_t) = delete;

}  // namespace views
}  // namespace slimpack

#endif
