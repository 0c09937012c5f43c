#ifndef SLIMPACK_CORE_SOUNDNESS_DETAIL_SOUND_PROGRAMS_HPP
#define SLIMPACK_CORE_SOUNDNESS_DETAIL_SOUND_PROGRAMS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>

#include <cstdint>
#include <span>

namespace slimpack::detail {

/// The law of programs (core/soundness/is_sound.hpp), asked of some replicas of a plan.
/// Requires  packs that are sound; replicas in ascending order, with all that share sequences with them
/// Errors    invalid_input: no program of each stage; weight gradients that no compute can run in such packs; memory
///           above the limit
///           out_of_order: an instruction that may not stand where it stands, or that is missing
///           cyclic_schedule: instructions that wait for each other
/// Source    derived: programs run on stages one at a time, as far as each comes; what is left when none comes any
///           further waits for ever, whatever the times are
/// Complexity O(instructions * stages that wait for one + slices + ties + rows * sharers * parts)
[[nodiscard]] result<void> sound_programs(const plan& p, std::span<const std::uint32_t> replicas);

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/core/soundness/impl/sound_programs.ipp>
#endif

#endif
