#ifndef SLIMPACK_PROFILING_PACK_RATES_HPP
#define SLIMPACK_PROFILING_PACK_RATES_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/kernels/slice_growth.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <span>

namespace slimpack::profiling {

/// What rates are multiplied with: packs, slices, tokens, pairs with prefixes, pairs of slices' own tokens, and tokens
/// of prefixes. Also one number for each rate, in this order.
inline constexpr std::size_t rate_count = 6;
using rate_row = std::array<double, rate_count>;

/// The counts of one pack.
[[nodiscard]] inline rate_row counts_of(std::span<const slice> pack) noexcept {
  rate_row x{1, static_cast<double>(pack.size()), 0, 0, 0, 0};
  for (const slice& s : pack) {
    const auto n = static_cast<double>(s.length.value), b = static_cast<double>(s.begin.value);
    x[2] += n, x[3] += n * b, x[4] += n * n, x[5] += b;
  }
  return x;
}

template <std::size_t N>
[[nodiscard]] constexpr double product(const std::array<double, N>& a, const std::array<double, N>& b) noexcept {
  double sum = 0;
  for (std::size_t k = 0; k < N; ++k) sum += a[k] * b[k];
  return sum;
}

/// What a pack takes on a part of the model in a pass, as it was fitted.
/// Formula   pack + the sum over its slices of slice + token n + pair n b + own n^2 + prefix b, of n queries behind a
///           prefix of b tokens: costs::slice_growth says what each stands for
struct pack_rates {
  seconds pack, slice, token, pair, own, prefix;

  [[nodiscard]] constexpr rate_row row() const noexcept {
    return {pack.value, slice.value, token.value, pair.value, own.value, prefix.value};
  }
  [[nodiscard]] static constexpr pack_rates of(const rate_row& x) noexcept {
    return {{x[0]}, {x[1]}, {x[2]}, {x[3]}, {x[4]}, {x[5]}};
  }
  [[nodiscard]] constexpr costs::slice_growth growth() const noexcept { return {slice, token, pair, own, prefix}; }

  friend bool operator==(const pack_rates&, const pack_rates&) = default;
};

/// How far fitted rates may be off, as the packs tell that they were fitted to.
struct rate_spread {
  double noise{};                                 ///< of one pack: standard deviation of measured / fitted
  std::array<rate_row, rate_count> covariance{};  ///< of the rates, in s^2. A rate that the fit leaves out has none

  /// Standard error of a rate, in the order of pack_rates.
  [[nodiscard]] seconds error_of(std::size_t rate) const noexcept { return {std::sqrt(covariance[rate][rate])}; }

  /// Variance of the time of these counts, in s^2: how far the rates are off, without the noise of single packs.
  [[nodiscard]] double variance(const rate_row& counts) const noexcept {
    double sum = 0;
    for (std::size_t k = 0; k < rate_count; ++k) sum += counts[k] * product(covariance[k], counts);
    return sum > 0 ? sum : 0;
  }

  friend bool operator==(const rate_spread&, const rate_spread&) = default;
};

}  // namespace slimpack::profiling

#endif
