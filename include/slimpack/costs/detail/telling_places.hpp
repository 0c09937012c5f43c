#ifndef SLIMPACK_COSTS_DETAIL_TELLING_PLACES_HPP
#define SLIMPACK_COSTS_DETAIL_TELLING_PLACES_HPP

#include <Eigen/Core>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Places to measure, the most telling first, of quantities that vary together as `covariance` says and are measured
/// with errors of variance 1. A measurement at i lowers the variance at j by C_ij^2 / (C_ii + 1), and covariances of
/// what is then unknown are C - C_i C_i^T / (C_ii + 1), so that the next place is chosen knowing the former.
/// `sizes`: where any two are a factor of `apart` apart, the first two places are.
/// Source    greedy I-optimal design under a Gaussian process (kriging)
/// Requires  as many sizes as rows of a square covariance            Complexity  O(count x rows^2)
[[nodiscard]] inline std::vector<std::size_t> telling_places(Eigen::MatrixXd covariance,
                                                             const std::vector<double>& sizes, double apart,
                                                             std::size_t count) {
  std::vector<std::size_t> places;
  if (sizes.empty()) return places;
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  const double smallest = *least, largest = *most;
  const bool spread = largest >= apart * smallest;
  const auto suits = [&](double size) {
    if (!spread || places.size() > 1) return true;
    if (places.empty()) return size >= apart * smallest || largest >= apart * size;
    const double first = sizes[places.front()];
    return size >= apart * first || first >= apart * size;
  };
  while (places.size() < std::min(count, sizes.size())) {
    std::size_t best = 0;
    double highest = -1;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      if (!suits(sizes[i]) || std::find(places.begin(), places.end(), i) != places.end()) continue;
      const double gain = covariance.col(row).squaredNorm() / (covariance(row, row) + 1);
      if (gain > highest) highest = gain, best = i;
    }
    const auto row = static_cast<Eigen::Index>(best);
    const Eigen::VectorXd with = covariance.col(row);
    covariance.noalias() -= with * (with.transpose() / (with[row] + 1));
    places.push_back(best);
  }
  return places;
}

}  // namespace slimpack::detail

#endif
