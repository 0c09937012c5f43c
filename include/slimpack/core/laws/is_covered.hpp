#ifndef SLIMPACK_CORE_LAWS_IS_COVERED_HPP
#define SLIMPACK_CORE_LAWS_IS_COVERED_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>

namespace slimpack {

/// Whether a plan runs each token of its sequences once in each of its passes: on one replica, or on those that share
/// the sequence, in the order of its rows. A plan without backward packs has one pass.
///
/// Law       forward, the packs of a sequence go on where the one before ended, from token 0 to its length; backward,
///           from its length down to token 0. Slices begin on the quantum. Inside a pack, and a row, the order of
///           slices is free
/// Requires  slices that lie within the plan's sequences
/// Errors    invalid_input: the sequence, the pass, and what comes where something else is due
/// Complexity O(slices log slices of a sequence + rows * sharers)
[[nodiscard]] result<void> is_covered(const plan& p);

}  // namespace slimpack

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/core/laws/impl/is_covered.ipp>
#endif

#endif
