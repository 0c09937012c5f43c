#ifndef SLIMPACK_CORE_SLICE_HPP
#define SLIMPACK_CORE_SLICE_HPP

#include <slimpack/core/units.hpp>

namespace slimpack {

/// Which half of a training step.
enum class pass : unsigned char { forward, backward };

[[nodiscard]] constexpr const char* name_of(pass p) noexcept { return p == pass::forward ? "forward" : "backward"; }

/// Tokens [begin, begin + length) of one sequence; they attend to [0, begin) and, causally, to themselves. Where
/// samples share beginnings, tokens are counted along the sequence's path: those before its own are its parents'.
struct slice {
  sequence_id sequence;
  tokens begin;
  tokens length;

  [[nodiscard]] constexpr tokens end() const noexcept { return begin + length; }
  /// Where a pass comes to it, and where it goes on from it: forward from front to back, backward from back to front.
  [[nodiscard]] constexpr tokens entry(pass p) const noexcept { return p == pass::forward ? begin : end(); }
  [[nodiscard]] constexpr tokens exit(pass p) const noexcept { return p == pass::forward ? end() : begin; }

  /// Attended (query, key) pairs: n (2 b + n + 1) / 2. Source: exact causal count, papers' "pairs".
  [[nodiscard]] constexpr double pairs() const noexcept {
    const auto b = static_cast<double>(begin.value);
    const auto n = static_cast<double>(length.value);
    return n * (2 * b + n + 1) / 2;
  }
  /// (query, key) pairs that dense attention makes: n (b + n), queries times all keys up to the end, masked ones too.
  [[nodiscard]] constexpr double dense_pairs() const noexcept {
    return static_cast<double>(length.value) * static_cast<double>(end().value);
  }

  friend constexpr bool operator==(const slice&, const slice&) = default;
};

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
