#ifndef SLIMPACK_SLICERS_WHOLE_HPP
#define SLIMPACK_SLICERS_WHOLE_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/slicers/cut_budget.hpp>

#include <iosfwd>

namespace slimpack::slicers {

/// Never cuts: what packing without slices does.
/// Units     tokens
/// Errors    none: a sequence that does not fit is not given            Complexity  O(1)
struct whole {
  template <class Cost>
  [[nodiscard]] constexpr slice next(const sequence& s, tokens at, pass p, const cut_budget& left,
                                     const Cost& cost) const noexcept {
    const slice all{s.id, {0}, s.length};
    const bool fits = s.length <= left.size && (left.empty || cost.time(all, p, left.part) <= left.time);
    return fits ? all : slice{s.id, at, {0}};
  }

  friend constexpr bool operator==(const whole&, const whole&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const whole&) {
    return out << "slicers::whole{}";
  }
};

}  // namespace slimpack::slicers

#endif
