#ifndef SLIMPACK_DETAIL_MEDIAN_HPP
#define SLIMPACK_DETAIL_MEDIAN_HPP

#include <algorithm>
#include <vector>

namespace slimpack::detail {

/// The middle value, or the mean of the two in the middle.
/// Requires  a value; its order is not kept            Complexity  O(n log n)
[[nodiscard]] inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

}  // namespace slimpack::detail

#endif
