#ifndef SLIMPACK_CORE_PROGRAM_HPP
#define SLIMPACK_CORE_PROGRAM_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace slimpack {

/// One step of a stage: what it does with a pack, by its kind (core/wiring/step_kinds.hpp).
struct instruction {
  instruction_kind kind{};
  pack_id pack;
  std::uint32_t chunk{};  ///< virtual stage on this stage, 0 when there is one, and of what a stage does once

  /// The pass whose packs `pack` counts.
  [[nodiscard]] constexpr slimpack::pass pass() const noexcept { return facts_of(kind).pass; }
  /// Whether it runs a pack through layers: F or B.
  [[nodiscard]] constexpr bool is_pass() const noexcept { return kind <= instruction_kind::backward; }
  /// Whether it computes weight gradients apart: W.
  [[nodiscard]] constexpr bool is_weights() const noexcept { return kind == instruction_kind::weights; }
  /// Whether each part of the model has one for each pack: F, B or W. Of other kinds each stage has one.
  [[nodiscard]] constexpr bool is_of_part() const noexcept { return facts_of(kind).each == places::parts; }
  friend constexpr bool operator==(const instruction&, const instruction&) = default;
};

/// The letter of its kind.
[[nodiscard]] constexpr char letter_of(const instruction& i) noexcept { return facts_of(i.kind).letter; }

/// "F12", "B12" or "W12", with several chunks "F12.1"; "V12": its name in plan files and messages.
[[nodiscard]] inline std::string name_of(const instruction& i, int chunks) {
  std::string name = letter_of(i) + std::to_string(i.pack.value);
  if (chunks > 1 && i.is_of_part()) name += '.' + std::to_string(i.chunk);
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

/// When one instruction runs on its stage, in simulation from the start of the step, measured from the moment that all
/// ranks had agreed to start.
struct timed_instruction {
  slimpack::instruction instruction;
  seconds begin;  ///< its input has arrived, and the instruction before has ended
  seconds end;
  /// In a step that ran, the time for which its thread had the processor in the calls of the compute. It is 0 where
  /// that is not known: a call waited, or its work runs on a device (executors/call_time.hpp).
  seconds processor{};
};

}  // namespace slimpack

#endif
