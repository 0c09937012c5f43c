#ifndef SLIMPACK_CORE_LENDING_ATTENTION_LENDING_HPP
#define SLIMPACK_CORE_LENDING_ATTENTION_LENDING_HPP

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

}  // namespace slimpack

#endif
