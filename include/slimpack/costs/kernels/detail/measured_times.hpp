#ifndef SLIMPACK_COSTS_KERNELS_DETAIL_MEASURED_TIMES_HPP
#define SLIMPACK_COSTS_KERNELS_DETAIL_MEASURED_TIMES_HPP

#include <slimpack/detail/median.hpp>

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// One point for each place, with the median of its times, in order of places.
/// before    whether one point's place comes before another's            Complexity  O(points log points)
template <class Point, class Before>
void keep_medians(std::vector<Point>& points, Before&& before) {
  std::sort(points.begin(), points.end(),
            [&](const Point& a, const Point& b) { return before(a, b) || (!before(b, a) && a.time < b.time); });
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

/// Where a time was measured, as far as it must not fall: along two sizes, among those that are alike in all else.
struct rising_place {
  std::vector<std::int64_t> alike;
  std::int64_t first{};
  std::int64_t second{};
  friend auto operator<=>(const rising_place&, const rising_place&) = default;
};

/// The least of what was added at a place or before it.
class least_before {
 public:
  explicit least_before(std::size_t places) : least_(places + 1, std::numeric_limits<double>::infinity()) {}

  void add(std::size_t place, double value) {
    for (std::size_t at = place + 1; at < least_.size(); at += at & (~at + 1)) least_[at] = std::min(least_[at], value);
  }
  [[nodiscard]] double operator()(std::size_t place) const {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t at = place + 1; at > 0; at &= at - 1) least = std::min(least, least_[at]);
    return least;
  }

 private:
  std::vector<double> least_;  // a Fenwick tree
};

/// Of each place the least value among alike places that are nowhere larger, itself among them.
/// Shapes    places and values in order of places            Complexity  O(places log places)
[[nodiscard]] inline std::vector<double> least_nowhere_larger(const std::vector<rising_place>& places,
                                                              const std::vector<double>& values) {
  std::vector<double> all(values.size());
  for (std::size_t begin = 0, end = 0; begin < places.size(); begin = end) {
    std::vector<std::int64_t> seconds;
    for (; end < places.size() && places[end].alike == places[begin].alike; ++end)
      seconds.push_back(places[end].second);
    std::sort(seconds.begin(), seconds.end());
    seconds.erase(std::unique(seconds.begin(), seconds.end()), seconds.end());
    const auto rank = [&](const rising_place& at) {
      return static_cast<std::size_t>(std::lower_bound(seconds.begin(), seconds.end(), at.second) - seconds.begin());
    };
    least_before seen(seconds.size());
    for (std::size_t i = begin, same = begin; i < end; i = same) {  // equal places stand in each other's way, too
      for (; same < end && places[same] == places[i]; ++same) seen.add(rank(places[same]), values[same]);
      for (std::size_t j = i; j < same; ++j) all[j] = seen(rank(places[j]));
    }
  }
  return all;
}

/// Times that do not fall along a partial order: each becomes the mean of the largest before it and the smallest after,
/// itself among both, which changes none that do not fall. Gives the largest change, as a ratio.
/// Shapes    a place for each time            Complexity  O(times log times)
[[nodiscard]] inline double make_monotone(std::vector<double>& times, const std::vector<rising_place>& places) {
  std::vector<std::size_t> order(times.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  // The largest before is the least of the negative ones; the smallest after is the least before, all sizes negative.
  std::vector<double> bounds[2];
  for (const int sign : {-1, 1}) {
    std::vector<rising_place> signed_places;
    for (const rising_place& at : places) signed_places.push_back({at.alike, -sign * at.first, -sign * at.second});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return signed_places[a] < signed_places[b]; });
    std::vector<rising_place> sorted;
    std::vector<double> values;
    for (const std::size_t i : order) sorted.push_back(std::move(signed_places[i])), values.push_back(sign * times[i]);
    const std::vector<double> least = least_nowhere_larger(sorted, values);
    std::vector<double>& of = bounds[sign < 0 ? 0 : 1];
    of.resize(times.size());
    for (std::size_t i = 0; i < order.size(); ++i) of[order[i]] = sign * least[i];
  }
  double largest = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double changed = (bounds[0][i] + bounds[1][i]) / 2;
    largest = std::max(largest, std::abs(changed / times[i] - 1));
    times[i] = changed;
  }
  return largest;
}

}  // namespace slimpack::detail

#endif
