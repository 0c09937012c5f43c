#ifndef SLIMPACK_SLICERS_EQUAL_COST_HPP
#define SLIMPACK_SLICERS_EQUAL_COST_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/slicers/cut_budget.hpp>

#include <algorithm>
#include <iosfwd>

namespace slimpack::slicers {

/// Cuts where the cost model says that the pack's time budget is used up, so that packs weigh the same.
/// Source    slices of equal cost follow SlimPack (arXiv:2509.26246) and Seq1F1B; the search is derived: time does
///           not fall as a slice grows (cost_model law 3), so bisection over quanta finds the largest that fits
/// Units     tokens, seconds
/// Law       a slice overshoots the budget only when the pack is empty and one quantum already does
/// Errors    none            Complexity  O(log(length / quantum)) questions to the cost model
struct equal_cost {
  template <class Cost>
  [[nodiscard]] constexpr slice next(const sequence& s, tokens at, pass p, const cut_budget& left,
                                     const Cost& cost) const {
    const std::int64_t q = left.quantum.value;
    const bool forward = p == pass::forward;
    // The far border moves over quanta: index k puts it k cuts away from `at`.
    const std::int64_t first = forward ? at.value / q : (at.value + q - 1) / q;
    const std::int64_t cuts = forward ? (s.length.value + q - 1) / q - first : first;
    const auto slice_of = [&](std::int64_t k) -> slice {
      if (forward) return {s.id, at, {std::min((first + k) * q, s.length.value) - at.value}};
      return {s.id, {(first - k) * q}, {at.value - (first - k) * q}};
    };
    const auto fits = [&](std::int64_t k) {
      const slice candidate = slice_of(k);
      return candidate.length <= left.size && cost.time(candidate, p, left.part) <= left.time;
    };
    std::int64_t low = 0;
    std::int64_t high = cuts + 1;  // low fits, high does not
    for (std::int64_t k = 1; k < high; k *= 2) {
      if (!fits(k)) {
        high = k;
        break;
      }
      low = k;
    }
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (fits(middle) ? low : high) = middle;
    }
    if (low == 0 && left.empty && slice_of(1).length <= left.size) low = 1;
    return low == 0 ? slice{s.id, at, {0}} : slice_of(low);
  }

  friend constexpr bool operator==(const equal_cost&, const equal_cost&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const equal_cost&) {
    return out << "slicers::equal_cost{}";
  }
};

}  // namespace slimpack::slicers

#endif
