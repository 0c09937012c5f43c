#ifndef SLIMPACK_COSTS_DETAIL_MEASURED_TIMES_HPP
#define SLIMPACK_COSTS_DETAIL_MEASURED_TIMES_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace slimpack::detail {

/// Requires  a value; its order is not kept
[[nodiscard]] inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
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
