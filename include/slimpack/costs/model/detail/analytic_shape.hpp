#ifndef SLIMPACK_COSTS_MODEL_DETAIL_ANALYTIC_SHAPE_HPP
#define SLIMPACK_COSTS_MODEL_DETAIL_ANALYTIC_SHAPE_HPP

#include <slimpack/core/units.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <span>

namespace slimpack::detail {

/// The time of q query tokens behind a prefix of p tokens, as it was measured.
struct timed_point {
  tokens queries;
  tokens prefix;
  seconds time;
  friend constexpr bool operator==(const timed_point&, const timed_point&) = default;
};

/// Pairs of q queries behind a prefix of p tokens, where each attends to itself and all before it.
struct all_pairs {
  [[nodiscard]] constexpr double operator()(double q, double p) const noexcept { return q * (2 * p + q + 1) / 2; }
};

/// launch + linear q + attention pairs(q, p): how a slice's time grows, where nothing was measured.
struct analytic_shape {
  double launch{};     ///< seconds
  double linear{};     ///< seconds per query
  double attention{};  ///< seconds per attended pair

  template <class Pairs = all_pairs>
  [[nodiscard]] constexpr double operator()(double q, double p, const Pairs& pairs = {}) const noexcept {
    return launch + linear * q + attention * pairs(q, p);
  }

  friend constexpr bool operator==(const analytic_shape&, const analytic_shape&) = default;

  /// The coefficients >= 0 with the least sum of squared relative errors. Each set of coefficients that are not 0 is
  /// solved by its normal equations, and the best admissible one wins: of three, that is exact and cheap.
  /// Requires  a point; times > 0            Complexity  O(points)
  template <class Pairs = all_pairs>
  [[nodiscard]] static analytic_shape fitted(std::span<const timed_point> points, const Pairs& pairs = {}) {
    std::array<std::array<double, 4>, 3> sums{};  // of products of relative columns; the last with 1, the wanted value
    for (const timed_point& point : points) {
      const auto q = static_cast<double>(point.queries.value);
      const auto p = static_cast<double>(point.prefix.value);
      const double t = point.time.value;
      const std::array<double, 4> row{q / t, pairs(q, p) / t, 1 / t, 1};
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 4; ++j) sums[i][j] += row[i] * row[j];
    }
    std::array<double, 3> best{};
    double most = 0;
    for (unsigned set = 1; set < 8; ++set) {
      std::array<double, 3> x{};
      if (!solved(sums, set, x)) continue;
      // The error is points - 2 x.b + x.A x, and A x = b for what the set holds: the best has the largest x.b. Of sets
      // that explain as much, as they do for one point, the first wins: time then grows with the queries.
      double explained = 0;
      for (std::size_t i = 0; i < 3; ++i) explained += x[i] * sums[i][3];
      if (explained > most * (1 + 1e-12)) most = explained, best = x;
    }
    return {.launch = best[2], .linear = best[0], .attention = best[1]};
  }

 private:
  /// Gauss elimination of the unknowns in `set`, columns scaled to length 1. False where it is singular or one is < 0.
  static bool solved(const std::array<std::array<double, 4>, 3>& sums, unsigned set, std::array<double, 3>& x) {
    std::array<std::size_t, 3> of{};
    std::size_t n = 0;
    for (std::size_t i = 0; i < 3; ++i)
      if ((set >> i & 1u) != 0) of[n++] = i;
    std::array<std::array<double, 4>, 3> m{};
    std::array<double, 3> scale{};
    for (std::size_t i = 0; i < n; ++i) scale[i] = 1 / std::sqrt(sums[of[i]][of[i]]);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) m[i][j] = sums[of[i]][of[j]] * scale[i] * scale[j];
      m[i][n] = sums[of[i]][3] * scale[i];
    }
    for (std::size_t k = 0; k < n; ++k) {  // positive definite, so no pivoting
      if (!(m[k][k] > 1e-10)) return false;
      for (std::size_t i = 0; i < n; ++i) {
        if (i == k) continue;
        const double factor = m[i][k] / m[k][k];
        for (std::size_t j = k; j <= n; ++j) m[i][j] -= factor * m[k][j];
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      x[of[i]] = m[i][n] / m[i][i] * scale[i];
      if (!(x[of[i]] >= 0)) return false;
    }
    return true;
  }
};

}  // namespace slimpack::detail

#endif
