#ifndef SLIMPACK_CORE_SOUNDNESS_IS_SOUND_HPP
#define SLIMPACK_CORE_SOUNDNESS_IS_SOUND_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>

namespace slimpack {

/// Whether a plan can be run, whoever made it: what planners, readers of plans, executors and laws of plans ask.
/// Whether its times and bounds are right is not asked, but that its packs can have such times (fits_packs,
/// core/soundness/completed_times.hpp); nor what a compute needs beside that.
///
/// Law       of packs: each token of a sequence runs once in each pass, on one replica or on those that share it. In a
///           pass, each slice begins where the one before ended, forward from its first token on, backward from its end
///           down. Slices begin on the quantum, counted from the first token. Without backward packs there is one pass
///           of paths: a sequence is on its parent's replica, and runs after it forward, and before it backward
///           of shared sequences: two sharers or more, in ascending order; each row names a pack of each sharer that
///           has slices of it, and other packs have none; rows run through the sequence like slices, and inside a row
///           the order is free; a sharer runs the same tokens in both passes; rows that go round can do so
///           of stages that are tied: tie_fault (core/ensemble/stage_ties.hpp)
///           of programs: each stage runs each pack of each flow once on each of its chunks, in run order, and W behind
///           its B, in run order. Weight gradients of a sequence run apart from some pack on, or nowhere. No stage
///           waits for ever, where an instruction waits for its messages, for what it reads on its own stage, and for
///           the row before its own; and where ensembles begin together (core/ensemble/ensembles.hpp), each instruction
///           as the next of its stage
///           of memory: no stage holds more than the limit, where the plan says both
/// Errors    invalid_input: packs, times, rows, ties or memory that no stages can have; out_of_order: an instruction
///           that may not stand where it stands, or that is missing; cyclic_schedule: instructions that wait for each
///           other
/// Complexity O(instructions * stages that wait for one + slices + ties log ties + rows * sharers * parts), and
///           k log k of the k slices of each shared sequence
[[nodiscard]] result<void> is_sound(const plan& p);

/// It asks the same about the part of a group, whose replicas run what they list; others run the rest.
[[nodiscard]] result<void> is_sound(const rank_plan& p);

}  // namespace slimpack

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/core/soundness/impl/is_sound.ipp>
#endif

#endif
