#ifndef SLIMPACK_CORE_DETAIL_BY_PASS_HPP
#define SLIMPACK_CORE_DETAIL_BY_PASS_HPP

#include <slimpack/core/slice.hpp>

namespace slimpack {

/// A value for each pass, picked by the pass.
///
///   by_pass<std::vector<tokens>> sizes;
///   for (const pass p : both_passes) sizes[p].push_back(...);
///
/// Errors    none            Complexity  O(1)
template <class T>
struct by_pass {
  T forward{};
  T backward{};

  [[nodiscard]] constexpr T& operator[](pass p) noexcept { return p == pass::forward ? forward : backward; }
  [[nodiscard]] constexpr const T& operator[](pass p) const noexcept { return p == pass::forward ? forward : backward; }

  friend constexpr bool operator==(const by_pass&, const by_pass&) = default;
};

/// Forward first.
inline constexpr pass both_passes[]{pass::forward, pass::backward};

/// Of n places, the i-th that a pass comes to: forward from the first to the last, backward from the last to the first.
template <class Place>
[[nodiscard]] constexpr Place nth_place(pass p, Place i, Place n) noexcept {
  return p == pass::forward ? i : n - 1 - i;
}

}  // namespace slimpack

#endif
