#include <slimpack/costs/kernels/detail/scatter.hpp>

#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace scatter_test {
namespace {

using slimpack::costs::origin;
using scatter = slimpack::detail::scatter<3>;

/// The definition, point by point.
scatter::answer plain(const std::vector<scatter::point>& points, const scatter::place& asked) {
  std::vector<std::pair<double, double>> all;  // squared distance, value
  bool near = false;
  scatter::place low = points.front().at, high = low;
  for (const scatter::point& p : points) {
    double square = p.apart * p.apart, furthest = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const double away = std::abs(p.at[i] - asked[i]);
      square += away * away;
      furthest = std::max(furthest, away);
      low[i] = std::min(low[i], p.at[i]);
      high[i] = std::max(high[i], p.at[i]);
    }
    near = near || furthest <= 1;
    all.emplace_back(square, p.value);
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (all.front().first == 0) return {all.front().second, origin::measured};
  const double rest = all.size() > 12 ? 1 / std::sqrt(all[12].first) : 0;
  double sum = 0, weights = 0;
  for (std::size_t k = 0; k < std::min<std::size_t>(all.size(), 13); ++k) {
    const double weight = 1 / std::sqrt(all[k].first) - rest;
    sum += weight * weight * all[k].second;
    weights += weight * weight;
  }
  for (std::size_t i = 0; i < 3; ++i) near = near && low[i] <= asked[i] && asked[i] <= high[i];
  return {weights > 0 ? sum / weights : all.front().second, near ? origin::interpolated : origin::extrapolated};
}

// Half of the places lie on a grid, so that many points are equally far, and some are the same.
TEST(Scatter, AnswersToTheBitAsLookingAtEveryPoint) {
  slimpack::testing::generator random(11);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<scatter::point> points(static_cast<std::size_t>(random.between(1, 400)));
    const auto number = [&](bool grid) {
      return grid ? static_cast<double>(random.between(0, 6)) : 6 * random.ratio();
    };
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool grid = i % 2 == 0;
      points[i] = {{number(grid), number(grid), number(grid)}, random.ratio(), i % 3 == 0 ? 2.0 : 0.0};
    }
    const scatter found(points);
    for (int question = 0; question < 40; ++question) {
      const bool grid = question % 2 == 0;
      const scatter::place asked{number(grid), number(grid), number(grid) + (question % 5 == 0 ? 3 : 0)};
      const scatter::answer expected = plain(points, asked), got = found(asked);
      ASSERT_EQ(got.value, expected.value) << "seed 11, trial " << trial << ", question " << question;
      ASSERT_EQ(got.source, expected.source) << "seed 11, trial " << trial << ", question " << question;
    }
  }
}

}  // namespace
}  // namespace scatter_test
