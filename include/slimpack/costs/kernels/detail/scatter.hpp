#ifndef SLIMPACK_COSTS_KERNELS_DETAIL_SCATTER_HPP
#define SLIMPACK_COSTS_KERNELS_DETAIL_SCATTER_HPP

#include <slimpack/core/assert.hpp>
#include <slimpack/costs/kernels/origin.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// A number known at scattered places, and asked for at others: the mean of the 12 nearest, weighted as
/// ((R - d) / (R d))^2 with R the distance of the 13th, so that it is exact at places and has no jumps.
/// Source    Franke and Nielson's form of Shepard's method
template <std::size_t Dimensions>
class scatter {
 public:
  using place = std::array<double, Dimensions>;
  struct point {
    place at;
    double value;
    double apart;  ///< added to its distance as another dimension: of points that are less to the point
  };
  struct answer {
    double value;
    costs::origin source;
  };

  /// Requires  a point
  explicit scatter(std::vector<point> points) : points_(std::move(points)) {
    SLIMPACK_ASSERT(!points_.empty(), "scattered data needs a point");
    low_ = high_ = points_.front().at;
    for (const point& p : points_)
      for (std::size_t i = 0; i < Dimensions; ++i) {
        low_[i] = std::min(low_[i], p.at[i]);
        high_[i] = std::max(high_[i], p.at[i]);
      }
  }

  /// Interpolated: inside the range of every dimension, and no further than 1 from a point in any. Complexity O(points)
  [[nodiscard]] answer operator()(const place& asked) const noexcept {
    std::array<std::pair<double, double>, nearest + 1> best;  // squared distance and value, by distance
    best.fill({std::numeric_limits<double>::infinity(), 0});
    bool near = false;
    for (const point& p : points_) {
      double square = p.apart * p.apart, furthest = 0;
      for (std::size_t i = 0; i < Dimensions; ++i) {
        const double away = std::abs(p.at[i] - asked[i]);
        square += away * away;
        furthest = std::max(furthest, away);
      }
      near = near || furthest <= 1;
      if (square >= best.back().first) continue;
      std::size_t slot = nearest;
      for (; slot > 0 && best[slot - 1].first > square; --slot) best[slot] = best[slot - 1];
      best[slot] = {square, p.value};
    }
    if (best.front().first == 0) return {best.front().second, costs::origin::measured};
    const double rest = 1 / std::sqrt(best.back().first);  // 0 where there are no more points
    double sum = 0, weights = 0;
    for (const auto& [square, value] : best) {
      const double weight = 1 / std::sqrt(square) - rest;
      sum += weight * weight * value;
      weights += weight * weight;
    }
    for (std::size_t i = 0; i < Dimensions; ++i) near = near && low_[i] <= asked[i] && asked[i] <= high_[i];
    const double value = weights > 0 ? sum / weights : best.front().second;  // 0: the nearest are equally far
    return {value, near ? costs::origin::interpolated : costs::origin::extrapolated};
  }

 private:
  static constexpr std::size_t nearest = 12;
  std::vector<point> points_;
  place low_{};
  place high_{};
};

}  // namespace slimpack::detail

#endif
