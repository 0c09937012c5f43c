#ifndef SLIMPACK_PROFILING_DETAIL_RATE_FIT_HPP
#define SLIMPACK_PROFILING_DETAIL_RATE_FIT_HPP

#include <slimpack/detail/median.hpp>
#include <slimpack/profiling/detail/expected_constants.hpp>
#include <slimpack/profiling/detail/nonnegative.hpp>
#include <slimpack/profiling/pack_rates.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::profiling::detail {

using rate_matrix = fit_matrix<rate_count>;

/// The rates of packs of one part and pass, and how far they may be off; no spread where there are no more kinds of
/// packs than rates.
struct fitted_rates {
  rate_row rates{};
  std::optional<rate_spread> spread{};
};

inline constexpr unsigned constants = 0b000011, growing = 0b111100;  // packs and slices; the others

[[nodiscard]] inline unsigned used(const rate_row& rates) noexcept {
  unsigned mask = 0;
  for (std::size_t k = 0; k < rate_count; ++k)
    if (rates[k] > 0) mask |= 1u << k;
  return mask;
}

/// Gives `pack` and `slice` the mean of what the measurements allow, instead of what fits best, and the others the best
/// fit beside them.
///
/// Noise often makes the best fit 0 for one of the two, and a planner then takes calls to cost nothing. But what is
/// known is only that it is not negative, and how far noise reaches. The expected time of a plan is linear in the
/// rates, so that it is its time at the expected rates; these are means of the normal distribution that the fit tells,
/// cut off below 0. Such a mean is never 0: with a best fit of 0 it is .8 standard errors; and as noise falls, it
/// becomes the best fit. Where packs tell only the sum of both, as if all have one slice, each gets half.
/// Source    derived: least squares are the likelihood of normal errors; growing rates in use are integrated out in
///           closed form (Schur's complement), the two by expected_of
inline void expect_constants(const fit_rows<rate_count>& rows, fitted_rates& found) {
  const auto normal = normal_equations<rate_count>::of(rows);
  const std::optional<rate_matrix> inverse = normal.inverse(used(found.rates) & growing);
  const auto counted = static_cast<std::size_t>(std::popcount(used(found.rates) | constants));
  if (!inverse || rows.size() <= counted) return;
  // A millionth at least, as clocks tell: times that fit exactly then have constants, too.
  const double variance = std::max(rows.error(found.rates) / static_cast<double>(rows.size() - counted), 1e-12);
  if (!std::isfinite(variance)) return;
  std::array<rate_row, 2> effect{};  // of a unit of a constant on all rates: others make up for it
  for (std::size_t c = 0; c < 2; ++c) {
    const rate_row less = times(*inverse, normal.matrix[c]);
    for (std::size_t k = 0; k < rate_count; ++k) effect[c][k] = (k == c ? 1 : 0) - less[k];
  }
  const rate_row apart = times(*inverse, normal.right);  // growing rates, were there no constants
  const std::array<double, 2> unit{1 / std::sqrt(normal.matrix[0][0]), 1 / std::sqrt(normal.matrix[1][1])};
  square_pair a{};
  std::array<double, 2> b{};
  for (std::size_t c = 0; c < 2; ++c) {
    b[c] = (normal.right[c] - product(normal.matrix[c], apart)) * unit[c];
    for (std::size_t d = 0; d < 2; ++d) a[c][d] = product(normal.matrix[c], effect[d]) * unit[c] * unit[d];
  }
  const bool is_told =
      std::min(a[0][0], a[1][1]) > 1e-6 && (a[0][1] >= 0 || a[0][0] * a[1][1] - a[0][1] * a[0][1] > 1e-9);
  square_pair known{};
  if (is_told) {
    for (std::size_t c = 0; c < 2; ++c) {
      b[c] /= variance;
      for (double& each : a[c]) each /= variance;
    }
    const expected_pair both = expected_of(a, b);
    fit_rows<rate_count> rest = rows;
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t i = 0; i < rest.size(); ++i) rest.times[i] -= both.mean[c] * unit[c] * rows.counts[i][c];
      for (std::size_t d = 0; d < 2; ++d) known[c][d] = both.covariance[c][d] * unit[c] * unit[d];
    }
    found.rates = least_squares(rest, growing);
    for (std::size_t c = 0; c < 2; ++c) found.rates[c] = both.mean[c] * unit[c];
  } else if (const std::optional<rate_matrix> own = normal.inverse(used(found.rates))) {
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t d = 0; d < 2; ++d) known[c][d] = (*own)[c][d] * variance;
  }
  rate_spread spread{std::sqrt(variance), {}};
  for (std::size_t k = 0; k < rate_count; ++k)
    for (std::size_t j = 0; j <= k; ++j) {
      double sum = (*inverse)[k][j] * variance;
      for (std::size_t c = 0; c < 2; ++c)
        for (std::size_t d = 0; d < 2; ++d) sum += known[c][d] * effect[c][k] * effect[d][j];
      spread.covariance[k][j] = spread.covariance[j][k] = j == k ? std::max(sum, 0.0) : sum;
    }
  found.spread = spread;
}

/// The rates of packs of one part and pass, in three fits.
/// 1.  Errors are relative to what was measured, which holds back packs that something else on the machine has held up.
/// 2.  Packs are left out whose logarithm of measured / fitted is more than four times the median of all: of normal
///     errors, one in 140. In logarithms, three times as long is as far off as a third. Errors are relative to the
///     first fit, since a scale that has the noise s of its own time pulls sums down, by 2 s^2 of them (derived: sum
///     1 / t over sum 1 / t^2, to second order).
/// 3.  Constants are expected ones, of expect_constants.
/// Where no slice had a prefix, a pair with one is taken for two of the slice's own, as causal kernels have it.
/// Requires  packs, times > 0            Complexity  O(packs log packs)
[[nodiscard]] inline fitted_rates rates_fitted(std::span<const rate_row> counts, std::span<const double> taken) {
  fit_rows<rate_count> all;
  for (std::size_t i = 0; i < counts.size(); ++i) all.push(counts[i], taken[i], taken[i]);
  fitted_rates found{least_squares(all, constants | growing), {}};
  std::vector<double> off;
  for (std::size_t i = 0; i < all.size(); ++i)
    off.push_back(std::abs(std::log(product(counts[i], found.rates) / taken[i])));
  const double limit = 4 * slimpack::detail::median(off) + 1e-6;
  fit_rows<rate_count> kept;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (off[i] <= limit) kept.push(counts[i], taken[i], std::max(product(counts[i], found.rates), taken[i] / 8));
  if (kept.size() < rate_count) kept = all;
  found.rates = least_squares(kept, constants | growing);
  expect_constants(kept, found);
  const auto has_prefix = [](const rate_row& x) { return x[3] > 0; };
  if (std::none_of(kept.counts.begin(), kept.counts.end(), has_prefix)) found.rates[3] = 2 * found.rates[4];
  return found;
}

}  // namespace slimpack::profiling::detail

#endif
