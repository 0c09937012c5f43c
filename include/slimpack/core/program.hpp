#ifndef SLIMPACK_CORE_PROGRAM_HPP
#define SLIMPACK_CORE_PROGRAM_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace slimpack {

/// One step of a stage: the forward or backward of a pack through one of the stage's chunks of layers. Where a schedule
/// runs a backward pack's weight gradients apart, its backward (B) computes the gradients of inputs, which the stage
/// before waits for, and a second instruction (W) later those of weights, which nobody waits for.
struct instruction {
  slimpack::pass pass{};
  pack_id pack;
  std::uint32_t chunk{};  ///< virtual stage on this stage, 0 when there is one
  bool weights_only{};    ///< W of a backward pack

  friend constexpr bool operator==(const instruction&, const instruction&) = default;
};

/// "F12", "B12" or "W12", with several chunks "F12.1": its name in plan files and messages.
[[nodiscard]] inline std::string name_of(const instruction& i, int chunks) {
  std::string name = (i.pass == pass::forward ? "F" : i.weights_only ? "W" : "B") + std::to_string(i.pack.value);
  if (chunks > 1) name += '.' + std::to_string(i.chunk);
  return name;
}

/// The ordered instructions of one stage; transfers, reduce and optimizer step are implied.
using program = std::vector<instruction>;

/// Which backward packs have weight gradients of their own in the programs: 1 for those; empty when none has.
/// Complexity O(instructions)
[[nodiscard]] inline std::vector<std::uint8_t> weights_apart(std::span<const program> programs, std::size_t backward_packs) {
  std::vector<std::uint8_t> apart;
  for (const program& code : programs) {
    for (const instruction& i : code) {
      if (!i.weights_only || i.pack.value >= backward_packs) continue;
      apart.resize(backward_packs, 0);
      apart[i.pack.value] = 1;
    }
  }
  return apart;
}

}  // namespace slimpack

#endif
