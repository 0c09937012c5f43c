#ifndef SLIMPACK_SLICERS_EQUAL_COST_HPP
#define SLIMPACK_SLICERS_EQUAL_COST_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/slicers/cut_budget.hpp>

#include <algorithm>
#include <iosfwd>

namespace slimpack::slicers {

/// Cuts where the cost model says that the pack's time budget is used up, so that packs weigh the same.
/// Source    slices of equal cost follow SlimPack (arXiv:2509.26246) and Seq1F1B; the search is derived: time does not
///           fall as a slice grows at an end (cost_model law 3), and either its begin or its end stays where it is, so
///           bisection over quanta finds the largest that fits, also of layers that have borders. All that
///           is left is asked for first, which fits more often than not, then where a straight line through two answers
///           reaches the budget. That takes half as many questions as bisection alone.
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
    const std::int64_t from = (at - s.begin).value;
    const std::int64_t first = forward ? from / q : (from + q - 1) / q;
    const std::int64_t cuts = forward ? (s.length.value + q - 1) / q - first : first;
    const auto slice_of = [&](std::int64_t k) -> slice {
      if (forward) return {s.id, at, {std::min((first + k) * q, s.length.value) - from}};
      return {s.id, {s.begin.value + (first - k) * q}, {from - (first - k) * q}};
    };
    const auto time_of = [&](std::int64_t k) { return cost.time(slice_of(k), p, left.part); };
    std::int64_t low = 0;
    std::int64_t high = cuts + 1;                                 // low fits, high does not
    if constexpr (requires { requires Cost::times_may_fall; }) {  // the search's own stand-ins: the first that does not
                                                                  // fit ends it
      const auto fits = [&](std::int64_t k) { return slice_of(k).length <= left.size && time_of(k) <= left.time; };
      for (std::int64_t k = 1; k < high; k *= 2) (fits(k) ? low : high) = k;
      while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (fits(middle) ? low : high) = middle;
      }
    } else {
      const std::int64_t reach = std::min(left.size.value, forward ? s.length.value - from : from);
      const std::int64_t border = forward ? from + reach : from - reach;
      const std::int64_t most = !forward                  ? first - (border + q - 1) / q
                                : border < s.length.value ? border / q - first
                                                          : cuts;
      if (most > 0) {
        seconds within{}, beyond = time_of(most);
        if (beyond <= left.time) return slice_of(most);
        high = most;
        for (int asked = 0; high - low > 1; ++asked) {
          const std::int64_t span = high - low;
          const seconds room = std::max(seconds{}, left.time - within), rise = beyond - within;
          const bool straight = asked < straight_lines && room < rise;  // a wrong model's times fall, or are no numbers
          const std::int64_t ahead =
              straight ? static_cast<std::int64_t>(room / rise * static_cast<double>(span)) : span / 2;
          const std::int64_t middle = low + std::max<std::int64_t>(ahead, 1);
          const seconds time = time_of(middle);
          if (time <= left.time)
            low = middle, within = time;
          else
            high = middle, beyond = time;
        }
      }
    }
    if (low == 0 && left.empty && slice_of(1).length <= left.size) low = 1;
    return low == 0 ? slice{s.id, at, {0}} : slice_of(low);
  }

  friend constexpr bool operator==(const equal_cost&, const equal_cost&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const equal_cost&) {
    return out << "slicers::equal_cost{}";
  }

 private:
  static constexpr int straight_lines = 4;  // at most: where times are no lines, halves come closer
};

}  // namespace slimpack::slicers

#endif
