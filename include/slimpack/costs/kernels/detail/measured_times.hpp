#ifndef SLIMPACK_COSTS_KERNELS_DETAIL_MEASURED_TIMES_HPP
#define SLIMPACK_COSTS_KERNELS_DETAIL_MEASURED_TIMES_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Requires  a value; its order is not kept
[[nodiscard]] inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

/// One point for each place, with the median of its times, in order of places.
/// before    whether one point's place comes before another's            Complexity  O(points log points)
template <class Point, class Before>
void keep_medians(std::vector<Point>& points, Before&& before) {
  std::sort(points.begin(), points.end(), [&](const Point& a, const Point& b) {
    return before(a, b) || (!before(b, a) && a.time < b.time);
  });
  std::vector<Point> kept;
  for (std::size_t first = 0; first < points.size();) {
    std::size_t end = first;
    while (end < points.size() && !before(points[first], points[end])) ++end;
    kept.push_back(points[first]);
    kept.back().time = (points[(first + end - 1) / 2].time + points[(first + end) / 2].time) * 0.5;
    first = end;
  }
  points = std::move(kept);
}

/// Times that do not fall along a partial order: each becomes the mean of the largest before it and the smallest after,
/// itself among both, which changes none that do not fall. Gives the largest change, as a ratio.
/// before    whether the place of one index is at most that of another in everything    Complexity O(times^2)
template <class Before>
double make_monotone(std::vector<double>& times, Before&& before) {
  std::vector<double> most = times, least = times;
  for (std::size_t i = 0; i < times.size(); ++i)
    for (std::size_t j = 0; j < times.size(); ++j)
      if (before(i, j)) {
        most[j] = std::max(most[j], times[i]);
        least[i] = std::min(least[i], times[j]);
      }
  double largest = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double changed = (most[i] + least[i]) / 2;
    largest = std::max(largest, std::abs(changed / times[i] - 1));
    times[i] = changed;
  }
  return largest;
}

}  // namespace slimpack::detail

#endif
