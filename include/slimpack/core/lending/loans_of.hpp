#ifndef SLIMPACK_CORE_LENDING_LOANS_OF_HPP
#define SLIMPACK_CORE_LENDING_LOANS_OF_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/shape.hpp>

#include <vector>

namespace slimpack {

/// How stages that run packs of unequal attention at the same time even it out (core/lending/loans_of.hpp has the
/// rules).
///
///   none   not at all
///   pairs  the stage with the most pairs of a query and a key lends to the one with the fewest, the second most to the
///          second fewest, and so on: the oldest whole slices of keys and values that its queries see, as near to half
///          of the difference as whole slices come without exceeding it
///   level  whoever has more than the mean lends to those who have less, in tokens: in at most p - 1 loans of a lock
///          step, all have the mean to within one key
/// Source   pairs: SlimPipe (arXiv:2504.14519); level: derived
enum class attention_lending : unsigned char { none, pairs, level };

inline constexpr attention_lending all_attention_lending[]{attention_lending::none, attention_lending::pairs,
                                                           attention_lending::level};

[[nodiscard]] constexpr const char* name_of(attention_lending l) noexcept {
  return l == attention_lending::none ? "none" : l == attention_lending::pairs ? "pairs" : "level";
}

/// The loans of one replica, by lock step, forward ones first.
///
/// Units     what a pack runs on one chunk, in the interleaved order of Megatron-LM: p packs pass chunk after chunk,
///           then the next p. With one chunk they are the packs
/// Lock step k of a pass: stage r runs unit k - r forward, unit k - (p - 1 - r) backward. Under 1F1B with a lead of 2
/// those run at the
///           same time. A stage's load is that of its pack in pairs of a query and a key that it sees
/// pairs     stages by load, the first with the last, and so on. With d the difference of their loads, the lender hands
///           over the oldest whole slices of keys that the queries of its first slice see, as many as d / 2 pairs have
///           room for
/// level     surplus of the largest to deficit of the largest, in keys, the oldest first; the last key of a deficit is
///           taken whole
/// Edges     a lock step in which some stage has no unit lends nothing: the first p - 1 of a pass and the last p - 1
/// Limits    a pack lends of its first slice alone, which is the only one that may have tokens in packs before: so the
///           oldest keys are those of a sequence that several packs hold
/// Law       core/lending/detail/loan_fault.hpp: what loans must keep, whoever made them
/// Errors    invalid_input: fewer than 2 stages; slices that are no multiple of the stages, or no divisor of the packs;
///           packs of a row that differ by two quanta or more, or that backward does not run in reverse
/// Source    SlimPipe (arXiv:2504.14519), its context exchange. Derived: level, units in place of slices, and closed
///           forms: of p slices that follow each other from the a-th of a sequence on, pairs leave max / mean = 1 for p
///           odd and 1 + 1 / (2 a + p + 1 / T) for p even, with T tokens a slice
/// Complexity O(units * (stages log stages + log slices))
[[nodiscard]] result<std::vector<loan>> loans_of(const partition& packs, const shape& on, attention_lending how,
                                                 int slices);

}  // namespace slimpack

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/core/lending/impl/loans_of.ipp>
#endif

#endif
