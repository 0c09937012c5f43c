#ifndef SLIMPACK_EXAMPLES_TRAIN_MEDIAN_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MEDIAN_HPP

#include <algorithm>
#include <cstddef>
#include <vector>

namespace train {

/// The middle value, or the mean of the two in the middle.   Requires   a value
[[nodiscard]] inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

}  // namespace train

#endif
