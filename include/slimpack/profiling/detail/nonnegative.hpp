#ifndef SLIMPACK_PROFILING_DETAIL_NONNEGATIVE_HPP
#define SLIMPACK_PROFILING_DETAIL_NONNEGATIVE_HPP

#include <slimpack/profiling/pack_rates.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

/// Least squares of N unknowns that are not negative.
namespace slimpack::profiling::detail {

template <std::size_t N>
using fit_row = std::array<double, N>;
template <std::size_t N>
using fit_matrix = std::array<fit_row<N>, N>;

/// The equations of a fit: what unknowns are multiplied with (counts), what comes out (times), and what errors are
/// divided by (scales).
template <std::size_t N>
struct fit_rows {
  std::vector<fit_row<N>> counts;
  std::vector<double> times, scales;

  void push(const fit_row<N>& x, double time, double scale) {
    counts.push_back(x), times.push_back(time), scales.push_back(scale);
  }
  [[nodiscard]] std::size_t size() const noexcept { return counts.size(); }
  [[nodiscard]] double error(const fit_row<N>& unknowns) const noexcept {
    double sum = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      const double off = (product(counts[i], unknowns) - times[i]) / scales[i];
      sum += off * off;
    }
    return sum;
  }
};

/// Normal equations of relative errors: the best unknowns x have matrix x = right.
template <std::size_t N>
struct normal_equations {
  fit_matrix<N> matrix{};
  fit_row<N> right{};

  [[nodiscard]] static normal_equations of(const fit_rows<N>& rows) {
    normal_equations made;
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t k = 0; k < N; ++k) {
        const double x = rows.counts[i][k] / (rows.scales[i] * rows.scales[i]);
        made.right[k] += x * rows.times[i];
        for (std::size_t j = 0; j < N; ++j) made.matrix[k][j] += x * rows.counts[i][j];
      }
    return made;
  }

  /// The inverse of the columns in `mask`, 0 elsewhere, by elimination with pivots. Columns are scaled by their
  /// diagonal, since pairs are millions. None where they are not independent.
  [[nodiscard]] std::optional<fit_matrix<N>> inverse(unsigned mask) const {
    std::array<std::array<double, 2 * N>, N> m{};
    std::array<std::size_t, N> columns{};
    std::size_t n = 0;
    fit_row<N> scale{};
    for (std::size_t k = 0; k < N; ++k)
      if (mask >> k & 1u) {
        if (!(matrix[k][k] > 0)) return std::nullopt;
        scale[k] = 1 / std::sqrt(matrix[k][k]), columns[n++] = k;
      }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j)
        m[i][j] = matrix[columns[i]][columns[j]] * scale[columns[i]] * scale[columns[j]];
      m[i][n + i] = 1;
    }
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t pivot = i;
      for (std::size_t k = i + 1; k < n; ++k)
        if (std::abs(m[k][i]) > std::abs(m[pivot][i])) pivot = k;
      if (std::abs(m[pivot][i]) < 1e-9) return std::nullopt;
      std::swap(m[i], m[pivot]);
      for (std::size_t k = 0; k < n; ++k) {
        if (k == i) continue;
        const double factor = m[k][i] / m[i][i];
        for (std::size_t j = i; j < 2 * n; ++j) m[k][j] -= factor * m[i][j];
      }
    }
    fit_matrix<N> made{};
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        made[columns[i]][columns[j]] = m[i][n + j] / m[i][i] * scale[columns[i]] * scale[columns[j]];
    return made;
  }
};

template <std::size_t N>
[[nodiscard]] fit_row<N> times(const fit_matrix<N>& a, const fit_row<N>& x) noexcept {
  fit_row<N> made{};
  for (std::size_t k = 0; k < N; ++k) made[k] = product(a[k], x);
  return made;
}

/// Unknowns of `allowed` that are not negative, with the least squares of errors: of all sets of unknowns, the best.
/// Source    derived: the least squares under such limits are free ones of some set of unknowns
/// Complexity O(rows N^2 + 2^N (N^3 + rows N))
template <std::size_t N>
[[nodiscard]] fit_row<N> least_squares(const fit_rows<N>& rows, unsigned allowed = (1u << N) - 1) {
  const normal_equations<N> normal = normal_equations<N>::of(rows);
  fit_row<N> best{};
  double least = std::numeric_limits<double>::infinity();
  for (unsigned mask = 1; mask < 1u << N; ++mask) {
    if ((mask & ~allowed) != 0) continue;
    const std::optional<fit_matrix<N>> inverse = normal.inverse(mask);
    if (!inverse) continue;
    const fit_row<N> x = times(*inverse, normal.right);
    if (std::any_of(x.begin(), x.end(), [](double r) { return r < 0; })) continue;
    const double error = rows.error(x);
    // More unknowns fit better by rounding alone.
    if (error < least * (1 - 1e-9) - 1e-18) least = error, best = x;
  }
  return best;
}

}  // namespace slimpack::profiling::detail

#endif
