#ifndef SLIMPACK_CORE_WIRING_STEP_KINDS_HPP
#define SLIMPACK_CORE_WIRING_STEP_KINDS_HPP

#include <slimpack/core/slice.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace slimpack {

/// What an instruction does: each kind is a row of instruction_kinds, which says all that programs, times and files ask
/// of it. Where packs go from it is a row of the wiring.
///
/// Where a schedule runs a backward pack's weight gradients apart, its B computes the gradients of inputs, which the
/// part before waits for, and a W later those of weights, which nobody waits for. Where the vocabulary is spread over
/// the stages, four more kinds run on each stage, on its share of the words:
///   E  from stage 0 to the last, with the sum of embedded rows; from there to the F on part 0
///   V  on each stage after the last part's F, which sends it the hidden rows. Of its own words it has for each token
///      the largest logit, the sum of exponentials, the gradient of the hidden row that these make, and the row of the
///      target. It sends these to the last stage, whose V comes after all others, and puts them together: then loss and
///      gradient are there, on the stage that runs the last part's B
///   U  on each stage, when the last stage has sent what makes its softmax the whole one
///   G  after part 0's B, from the last stage to stage 0, with the gradient of embedded rows
/// Source    the vocabulary over pipeline stages, with one barrier, is Algorithm 2 of arXiv:2411.05288. Derived:
///           messages to the last stage in place of all-reduces, since only its B needs the result; and that V does not
///           go from stage to stage, as E does: on each stage it waits for the instruction that runs there, so that a
///           pack in flight more is needed for about four stages; gathered, it waits twice, however many stages there
///           are
enum class instruction_kind : unsigned char {
  forward,          ///< F  a forward pack through the layers of a part
  backward,         ///< B  a backward pack through them
  weights,          ///< W  their weight gradients of a backward pack, apart from its B
  embed,            ///< E  the embedding of a forward pack, before its first F
  output,           ///< V  the output layer of a forward pack, after its last F: logits, loss, gradients of its input
  output_weights,   ///< U  the output layer's weight gradients of a forward pack, after its V on all stages
  embed_gradients,  ///< G  the embedding's gradients of a backward pack, after its last B
};

/// What a message carries: each kind has a column of times (core/timings.hpp).
enum class message_kind : unsigned char {
  forward,     ///< outputs of a part's F to the next part
  backward,    ///< gradients of its inputs from a part's B to the part before, and from part 0 to the first G
  embedded,    ///< from E on a stage to the next, and from the last stage to part 0
  hidden,      ///< from the last part to V on a stage
  partial,     ///< from V on a stage to V on the last
  statistics,  ///< from V on the last stage to U on a stage
  gradients,   ///< from G on a stage to the one before it
};

/// What a kind of instruction, or of message, has a time of its own for: each part of the model, or each stage.
enum class places : unsigned char { parts, stages };

struct instruction_facts {
  char letter;                ///< its name in programs, files and messages: F12
  slimpack::pass pass;        ///< whose packs it runs
  slimpack::places each;      ///< where a pack comes to it once
  bool weight_gradients;      ///< it computes gradients of weights, which a reduction waits for
  bool of_vocabulary;         ///< only steps whose vocabulary is spread over the stages have it
  std::uint32_t hash;         ///< its number in hashes of plans, which stays as it is
  std::string_view name;      ///< of its times in plan files
  std::string_view category;  ///< in traces, whose viewers give each a colour
};

inline constexpr auto instruction_kinds = std::to_array<instruction_facts>({
    {'F', pass::forward, places::parts, false, false, 0, "forward", "forward"},
    {'B', pass::backward, places::parts, true, false, 1, "backward", "backward"},
    {'W', pass::backward, places::parts, true, false, 2, "weights", "weights"},
    {'E', pass::forward, places::stages, false, true, 4, "embed", "vocabulary"},
    {'V', pass::forward, places::stages, false, true, 8, "output", "vocabulary"},
    {'U', pass::forward, places::stages, true, true, 10, "output_weights", "vocabulary"},
    {'G', pass::backward, places::stages, true, true, 5, "embed_gradients", "vocabulary"},
});

struct message_facts {
  slimpack::pass pass;    ///< whose packs it is of
  slimpack::places each;  ///< what its times are numbered by
  bool of_way;            ///< on a pack's one way through the model; others lead away from it, or back to it
  std::string_view name;  ///< of its times in plan files
};

inline constexpr auto message_kinds = std::to_array<message_facts>({
    {pass::forward, places::parts, true, "forward"},
    {pass::backward, places::parts, true, "backward"},
    {pass::forward, places::stages, true, "embedded"},
    {pass::forward, places::stages, false, "hidden"},
    {pass::forward, places::stages, false, "partial"},
    {pass::forward, places::stages, false, "statistics"},
    {pass::backward, places::stages, true, "gradients"},
});

[[nodiscard]] constexpr const instruction_facts& facts_of(instruction_kind k) noexcept {
  return instruction_kinds[static_cast<std::size_t>(k)];
}
[[nodiscard]] constexpr const message_facts& facts_of(message_kind k) noexcept {
  return message_kinds[static_cast<std::size_t>(k)];
}

/// The kinds of instructions of a pack, forward and then backward, each behind those that it waits for on any stage. Of
/// a kind that parts have one of, forward packs come to the first part first, and backward packs to the last. Without
/// those whose packs a plan chooses.
inline constexpr instruction_kind kinds_of_a_pack[]{instruction_kind::embed,    instruction_kind::forward,
                                                    instruction_kind::output,   instruction_kind::output_weights,
                                                    instruction_kind::backward, instruction_kind::embed_gradients};

/// F or B: what runs the packs of a pass through layers.
[[nodiscard]] constexpr instruction_kind pass_kind(pass p) noexcept {
  return p == pass::forward ? instruction_kind::forward : instruction_kind::backward;
}

}  // namespace slimpack

#endif
