#ifndef SLIMPACK_SCHEDULES_DETAIL_LOCK_STEP_CALLS_HPP
#define SLIMPACK_SCHEDULES_DETAIL_LOCK_STEP_CALLS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>

#include <span>
#include <vector>

namespace slimpack::detail {

/// Programs of layers of one replica, whose stages run packs together, with E, V, U and G put between them at
/// one instant of the layers' run on all stages: V of a pack when its last F ends, and on the last stage, which waits
/// for all others, with the V that follows, or before a B that needs it; U two packs after its V; E when the F before
/// it begins on part 0, and G when its last B ends. So no stage waits, through a lock step, for a call that another has
/// behind it.
/// Source    SlimPipe (arXiv:2504.14519), whose passes of the embedding and of the output layer are in lock step, too;
///           the instants are derived
/// Proof     of that nobody waits for ever: a call's instant is no earlier than what it waits for begins, and what
///           waits for it begins no earlier than that instant; calls stand before what begins then
/// Errors    invalid_input: a pass of a pack that takes no time, whose begin and end are one instant; those of
///           joint_graph
/// Complexity that of joint_graph, and O(calls log calls * stages)
[[nodiscard]] result<std::vector<program>> lock_step_calls(const workload& work, std::span<const program> layers);

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/schedules/impl/lock_step_calls.ipp>
#endif

#endif
