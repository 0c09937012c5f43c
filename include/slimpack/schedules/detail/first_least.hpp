#ifndef SLIMPACK_SCHEDULES_DETAIL_FIRST_LEAST_HPP
#define SLIMPACK_SCHEDULES_DETAIL_FIRST_LEAST_HPP

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

namespace slimpack::detail {

/// Where the least of some times is, the first of equal ones: which stage runs next. It is asked once for each
/// instruction, and half as dear as std::min_element, which waits for each place before it loads the time there.
[[nodiscard]] inline std::size_t first_least(std::span<const double> times) {
  double least = std::numeric_limits<double>::infinity();
  for (const double t : times) least = std::min(least, t);
  return static_cast<std::size_t>(std::find(times.begin(), times.end(), least) - times.begin());
}

}  // namespace slimpack::detail

#endif
