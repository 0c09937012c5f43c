#ifndef SLIMPACK_CORE_PROGRAM_HPP
#define SLIMPACK_CORE_PROGRAM_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/core/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace slimpack {

/// One step of a stage: the forward or backward of a pack through one of the stage's chunks of layers. Where a schedule
/// runs a backward pack's weight gradients apart, its backward (B) computes the gradients of inputs, which the stage
/// before waits for, and a second instruction (W) later those of weights, which nobody waits for.
///
/// Where the vocabulary is spread over the stages, four more kinds run on each stage, on its share of the words:
///   E  the embedding of a forward pack, before its F
///   V  the output layer of a forward pack, after its last F: logits, loss, gradients of its input
///   U  the output layer's weight gradients of a forward pack, after its V on all stages
///   G  the embedding's gradients of a backward pack, after its last B
struct instruction {
  slimpack::pass pass{};  ///< whose packs `pack` counts
  pack_id pack;
  std::uint32_t chunk{};  ///< virtual stage on this stage, 0 when there is one, and of the ends of the model
  bool weights_only{};    ///< W of a backward pack, U of a forward pack
  model_end end{};        ///< of E and G, embedding; of V and U, output

  /// F or B.
  [[nodiscard]] constexpr bool is_pass() const noexcept { return end == model_end::none && !weights_only; }
  /// W.
  [[nodiscard]] constexpr bool is_weights() const noexcept { return end == model_end::none && weights_only; }
  friend constexpr bool operator==(const instruction&, const instruction&) = default;
};

/// The kind of an instruction: 'F', 'B', 'W', 'E', 'V', 'U' or 'G'.
[[nodiscard]] constexpr char letter_of(const instruction& i) noexcept {
  if (i.end == model_end::embedding) return i.pass == pass::forward ? 'E' : 'G';
  if (i.end == model_end::output) return i.weights_only ? 'U' : 'V';
  return i.pass == pass::forward ? 'F' : i.weights_only ? 'W' : 'B';
}

/// "F12", "B12" or "W12", with several chunks "F12.1"; "V12": its name in plan files and messages.
[[nodiscard]] inline std::string name_of(const instruction& i, int chunks) {
  std::string name = letter_of(i) + std::to_string(i.pack.value);
  if (chunks > 1 && i.end == model_end::none) name += '.' + std::to_string(i.chunk);
  return name;
}

/// The ordered instructions of one stage; transfers, reduce and optimizer step are implied.
using program = std::vector<instruction>;

/// Which backward packs have weight gradients of their own in the programs: 1 for those; empty when none has.
/// Complexity O(instructions)
[[nodiscard]] inline std::vector<std::uint8_t> weights_apart(std::span<const program> programs,
                                                             std::size_t backward_packs) {
  std::vector<std::uint8_t> apart;
  for (const program& code : programs) {
    for (const instruction& i : code) {
      if (!i.is_weights() || i.pack.value >= backward_packs) continue;
      apart.resize(backward_packs, 0);
      apart[i.pack.value] = 1;
    }
  }
  return apart;
}

}  // namespace slimpack

#endif
