#ifndef SLIMPACK_SLICERS_UNIFORM_HPP
#define SLIMPACK_SLICERS_UNIFORM_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/slicers/cut_budget.hpp>

#include <algorithm>
#include <iosfwd>

namespace slimpack::slicers {

/// Cuts at every `at_most` tokens, whatever the work: SlimPipe's and ChunkFlow's slices.
/// Source    SlimPipe, arXiv:2504.14519 (uniform slicing); its scripts round to 128 tokens
/// Units     tokens
/// Requires  at_most >= 1; it is rounded up to the quantum
/// Errors    none: a slice that does not fit is not given            Complexity  O(1)
struct uniform {
  tokens at_most{8192};

  template <class Cost>
  [[nodiscard]] constexpr slice next(const sequence& s, tokens at, pass p, const cut_budget& left,
                                     const Cost& /*cost*/) const noexcept {
    const std::int64_t step =
        (std::max<std::int64_t>(at_most.value, 1) + left.quantum.value - 1) / left.quantum.value * left.quantum.value;
    const std::int64_t begin = p == pass::forward ? at.value : (at.value - 1) / step * step;
    const std::int64_t end = p == pass::forward ? std::min((at.value / step + 1) * step, s.length.value) : at.value;
    if (end - begin > left.size.value) return {s.id, at, {0}};
    return {s.id, {begin}, {end - begin}};
  }

  friend constexpr bool operator==(const uniform&, const uniform&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const uniform& u) {
    return out << "slicers::uniform{.at_most = {" << u.at_most.value << "}}";
  }
};

}  // namespace slimpack::slicers

#endif
