#ifndef SLIMPACK_PROFILING_DETAIL_EXPECTED_CONSTANTS_HPP
#define SLIMPACK_PROFILING_DETAIL_EXPECTED_CONSTANTS_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace slimpack::profiling::detail {

using square_pair = std::array<std::array<double, 2>, 2>;

/// Two constants that are not negative, as noisy measurements tell them: the mean and the covariance of what is
/// compatible with them.
struct expected_pair {
  std::array<double, 2> mean{};
  square_pair covariance{};
};

/// The normal distribution, cut off below 0: its logarithm of mass, mean and mean square.
struct cut_normal {
  double log_mass{}, mean{}, square{};

  [[nodiscard]] static cut_normal of(double center, double deviation) noexcept {
    const double z = center / deviation, root = std::sqrt(2 * std::numbers::pi);
    if (z < -20)  // the first terms of the asymptotic series
      return {-z * z / 2 - std::log(-z * root), -deviation / z, 2 * deviation * deviation / (z * z)};
    const double mass = std::erfc(-z / std::numbers::sqrt2) / 2;
    const double edge = std::exp(-z * z / 2) / root / mass;
    return {std::log(mass), center + deviation * edge,
            center * center + deviation * deviation + center * deviation * edge};
  }
};

/// Of the density exp(-x.A x / 2 + b.x) over x0, x1 >= 0. A may be singular along a difference: where measurements tell
/// only the sum, each of the two is expected to be half of it.
/// Source    derived: x0 is integrated in closed form (cut_normal), x1 by the midpoints of 2000 steps over all of it
///           that is not below exp(-30) of the most
/// Requires  A symmetric, a00 > 0, a11 > 0, a01 >= 0 or A positive definite            Complexity  O(1)
[[nodiscard]] inline expected_pair expected_of(const square_pair& a, const std::array<double, 2>& b) {
  const double deviation = 1 / std::sqrt(a[0][0]);
  const auto center = [&](double x1) { return (b[0] - a[0][1] * x1) / a[0][0]; };
  const auto height = [&](double x1) {  // of the best x0; concave
    const double x0 = std::max(center(x1), 0.0);
    return b[1] * x1 - a[1][1] * x1 * x1 / 2 + a[0][0] * x0 * x0 / 2;
  };
  double top = 0;
  const double determinant = a[0][0] * a[1][1] - a[0][1] * a[0][1];
  for (const double candidate : {b[1] / a[1][1], (a[0][0] * b[1] - a[0][1] * b[0]) / determinant})
    if (candidate > 0 && std::isfinite(candidate) && height(candidate) > height(top)) top = candidate;
  const auto reach = [&](double way) {
    double step = 1 / std::sqrt(a[1][1]);
    while (top + way * step > 0 && height(top) - height(top + way * step) < 30) step *= 2;
    return std::max(top + way * step, 0.0);
  };
  const double first = reach(-1), last = reach(1);
  constexpr int steps = 2000;
  struct point {
    double x1, height;
    cut_normal x0;
  };
  std::vector<point> all;
  double most = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < steps; ++i) {
    const double x1 = first + (last - first) * (i + 0.5) / steps, c = center(x1);
    const cut_normal x0 = cut_normal::of(c, deviation);
    all.push_back({x1, b[1] * x1 - a[1][1] * x1 * x1 / 2 + a[0][0] * c * c / 2 + x0.log_mass, x0});
    most = std::max(most, all.back().height);
  }
  double mass = 0, m0 = 0, m1 = 0, s00 = 0, s01 = 0, s11 = 0;
  for (const point& p : all) {
    const double w = std::exp(p.height - most);
    mass += w, m0 += w * p.x0.mean, m1 += w * p.x1;
    s00 += w * p.x0.square, s01 += w * p.x0.mean * p.x1, s11 += w * p.x1 * p.x1;
  }
  m0 /= mass, m1 /= mass, s00 /= mass, s01 /= mass, s11 /= mass;
  const double c01 = s01 - m0 * m1;
  return {{m0, m1}, {{{std::max(s00 - m0 * m0, 0.0), c01}, {c01, std::max(s11 - m1 * m1, 0.0)}}}};
}

}  // namespace slimpack::profiling::detail

#endif
