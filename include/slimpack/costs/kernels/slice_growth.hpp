#ifndef SLIMPACK_COSTS_KERNELS_SLICE_GROWTH_HPP
#define SLIMPACK_COSTS_KERNELS_SLICE_GROWTH_HPP

#include <slimpack/core/units.hpp>

#include <algorithm>
#include <array>

namespace slimpack::costs {

/// How the time of a slice of n queries behind a prefix of b tokens grows, as a trainer's own profile knows it.
/// Formula   slice + token n + pair n b + own n^2 + prefix b
///           Dense attention, which computes the masked half, too, has own = pair. Causal kernels have own = pair / 2.
///           prefix is what a backward adds to gradients of the whole prefix, however few its queries are
/// Source    derived
struct slice_growth {
  seconds slice;   ///< of each slice, however long
  seconds token;   ///< of each of its queries
  seconds pair;    ///< of a query and a token of the prefix
  seconds own;     ///< of two tokens of the slice itself: there are n^2
  seconds prefix;  ///< of each token of the prefix

  [[nodiscard]] constexpr double operator()(double n, double b) const noexcept {
    return slice.value + token.value * n + pair.value * n * b + own.value * n * n + prefix.value * b;
  }

  /// What each further cut leaves as it is: token n + additive_pair (n b + n^2 / 2), which is additive, since
  /// n b + n^2 / 2 is the integral of the position over the slice. It is at most the time without slice and prefix, as
  /// additive_pair <= pair and additive_pair / 2 <= own.
  [[nodiscard]] constexpr seconds additive_pair() const noexcept { return std::min(pair, own * 2.0); }

  /// Whether a single token behind no prefix takes time. Otherwise nothing can grow in proportion to it.
  [[nodiscard]] constexpr bool has_time() const noexcept { return slice + token + own > seconds{}; }

  [[nodiscard]] constexpr std::array<seconds, 5> all() const noexcept { return {slice, token, pair, own, prefix}; }

  friend constexpr bool operator==(const slice_growth&, const slice_growth&) = default;
};

}  // namespace slimpack::costs

#endif
