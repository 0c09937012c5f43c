#ifndef SLIMPACK_CORE_LAWS_CAN_RUN_HPP
#define SLIMPACK_CORE_LAWS_CAN_RUN_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>

#include <cstdint>
#include <span>

namespace slimpack {

/// Whether the stages of these replicas can run their programs to the end, with all that runs together
/// (core/ensemble/ensembles.hpp). Readers of plans, laws of plans and executors ask this one function, before
/// the first instruction runs.
///
/// Law       of stages that are tied: tie_fault (core/ensemble/stage_ties.hpp)
/// Law       of programs: each stage runs each pack of each flow once on each of its chunks, in run order, and W behind
///           its B. No stage waits for ever, where an instruction waits for its messages, for what it reads on its own
///           stage, and for the row before its own; and where ensembles begin together, each as the next of its stage
/// Requires  replicas in ascending order, whose merges are among themselves; slices that lie within the plan's
///           sequences
/// Errors    invalid_input: ties, or rows, that no stage can run; out_of_order: an instruction that may not stand
///           where it stands, or that is missing; cyclic_schedule: instructions that wait for each other
/// Source    derived: programs run on stages one at a time, as far as each comes; what is left when none comes any
///           further waits for ever, whatever the times are
/// Complexity O(instructions * stages that wait for one + ties log ties + rows * sharers * parts)
[[nodiscard]] result<void> can_run(const plan& p, std::span<const std::uint32_t> replicas);

/// It asks the same about all replicas of the plan.
[[nodiscard]] result<void> can_run(const plan& p);

}  // namespace slimpack

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/core/laws/impl/can_run.ipp>
#endif

#endif
