#ifndef SLIMPACK_PROFILING_DETAIL_RATES_FIT_HPP
#define SLIMPACK_PROFILING_DETAIL_RATES_FIT_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/profiling/observation.hpp>
#include <slimpack/profiling/stage_profile.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::profiling::detail {

/// Attended pairs of a slice.
[[nodiscard]] inline double pairs_of(double queries, double prefix) noexcept {
  return queries * (prefix + (queries + 1) / 2);
}

/// What the rates say that a slice takes, its pack's own time apart.
[[nodiscard]] inline double work_of(const pack_rates& r, std::int64_t queries, std::int64_t prefix) noexcept {
  const auto q = static_cast<double>(queries);
  return r.slice.value + r.token.value * q + r.pair.value * pairs_of(q, static_cast<double>(prefix));
}

inline constexpr std::size_t rate_count = 4;
using rate_row = std::array<double, rate_count>;  // packs, slices, tokens, pairs; or what each takes

[[nodiscard]] inline rate_row row_of(const observation& o) {
  rate_row x{1, static_cast<double>(o.pack.size()), 0, 0};
  for (const slice& s : o.pack) {
    const auto q = static_cast<double>(s.length.value);
    x[2] += q, x[3] += pairs_of(q, static_cast<double>(s.begin.value));
  }
  return x;
}

[[nodiscard]] inline double product(const rate_row& a, const rate_row& b) noexcept {
  double sum = 0;
  for (std::size_t k = 0; k < rate_count; ++k) sum += a[k] * b[k];
  return sum;
}

/// Solves the normal equations of the columns in `mask` by elimination with pivots; others are 0. Columns are scaled by
/// their diagonal, since pairs are millions. None where they are not independent.
[[nodiscard]] inline std::optional<rate_row> solved(const std::array<rate_row, rate_count>& normal,
                                                    const rate_row& right, unsigned mask) {
  std::array<std::array<double, rate_count + 1>, rate_count> m{};
  std::vector<std::size_t> columns;
  for (std::size_t k = 0; k < rate_count; ++k)
    if (mask >> k & 1u) columns.push_back(k);
  const std::size_t n = columns.size();
  rate_row scale{};
  for (const std::size_t k : columns) {
    if (!(normal[k][k] > 0)) return std::nullopt;
    scale[k] = 1 / std::sqrt(normal[k][k]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j)
      m[i][j] = normal[columns[i]][columns[j]] * scale[columns[i]] * scale[columns[j]];
    m[i][n] = right[columns[i]] * scale[columns[i]];
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t k = i + 1; k < n; ++k)
      if (std::abs(m[k][i]) > std::abs(m[pivot][i])) pivot = k;
    if (std::abs(m[pivot][i]) < 1e-9) return std::nullopt;
    std::swap(m[i], m[pivot]);
    for (std::size_t k = i + 1; k < n; ++k) {
      const double factor = m[k][i] / m[i][i];
      for (std::size_t j = i; j <= n; ++j) m[k][j] -= factor * m[i][j];
    }
  }
  rate_row x{};
  for (std::size_t i = n; i-- > 0;) {
    double sum = m[i][n];
    for (std::size_t j = i + 1; j < n; ++j) sum -= m[i][j] * x[columns[j]] / scale[columns[j]];
    x[columns[i]] = sum / m[i][i] * scale[columns[i]];
  }
  return x;
}

/// Least squares of relative errors over rates that are not negative: of all sets of rates that are, the best.
[[nodiscard]] inline rate_row least_squares(std::span<const rate_row> rows, std::span<const double> times) {
  std::array<rate_row, rate_count> normal{};
  rate_row right{};
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t k = 0; k < rate_count; ++k) {
      const double x = rows[i][k] / times[i];
      right[k] += x;
      for (std::size_t j = 0; j < rate_count; ++j) normal[k][j] += x * rows[i][j] / times[i];
    }
  rate_row best{};
  double least = std::numeric_limits<double>::infinity();
  for (unsigned mask = 1; mask < 1u << rate_count; ++mask) {
    const std::optional<rate_row> x = solved(normal, right, mask);
    if (!x || std::any_of(x->begin(), x->end(), [](double r) { return r < 0; })) continue;
    double error = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double off = product(rows[i], *x) / times[i] - 1;
      error += off * off;
    }
    // More rates fit better by rounding alone.
    if (error < least * (1 - 1e-9) - 1e-18) least = error, best = *x;
  }
  return best;
}

/// The rates of packs of one part and pass. Packs that are more than three times the median off a first fit, which
/// something else on the machine has held up, are left out of the second.
/// Requires  packs            Complexity  O(slices + packs log packs)
[[nodiscard]] inline pack_rates rates_fitted(std::span<const observation> all) {
  std::vector<rate_row> rows;
  std::vector<double> times, off;
  for (const observation& o : all) rows.push_back(row_of(o)), times.push_back(o.time.value);
  rate_row found = least_squares(rows, times);
  for (std::size_t i = 0; i < rows.size(); ++i) off.push_back(std::abs(product(rows[i], found) / times[i] - 1));
  std::vector<double> sorted = off;
  std::sort(sorted.begin(), sorted.end());
  const double limit = 3 * sorted[sorted.size() / 2] + 1e-6;
  std::vector<rate_row> kept;
  std::vector<double> kept_times;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (off[i] <= limit) kept.push_back(rows[i]), kept_times.push_back(times[i]);
  if (kept.size() < rows.size() && kept.size() >= rate_count) found = least_squares(kept, kept_times);
  return {{found[0]}, {found[1]}, {found[2]}, {found[3]}};
}

}  // namespace slimpack::profiling::detail

#endif
