#ifndef SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_LAWS_CHECK_HPP
#define SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_LAWS_CHECK_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/pricing/detail/checked_answers.hpp>

namespace slimpack::detail {

/// Whether a plan takes no less than its lower bound, and no less than the useful work of its stages. A plan that does
/// is a proof that the cost model breaks a law on which both rest (concepts/planning.hpp): the first one is told that
/// its own slices and packs break, with the numbers.
/// Requires  a plan with its step time, bounds and bubble
/// Errors    invalid_input            Complexity  O(1); O(slices * parts) questions where a law is broken
[[nodiscard]] result<void> laws_check(const plan& p, const checked_answers& cost);

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/solvers/assembly/impl/laws_check.ipp>
#endif

#endif
