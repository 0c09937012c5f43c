#ifndef SLIMPACK_COSTS_DETAIL_ESTIMATION_HPP
#define SLIMPACK_COSTS_DETAIL_ESTIMATION_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Derivatives of f(x), a vector, by central differences.
template <class Function>
[[nodiscard]] Eigen::MatrixXd derivatives(Function&& f, const Eigen::VectorXd& x) {
  constexpr double step = 1e-4;
  Eigen::MatrixXd made;
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    Eigen::VectorXd more = x, less = x;
    more[i] += step;
    less[i] -= step;
    const Eigen::VectorXd column = (f(more) - f(less)) / (2 * step);
    if (i == 0) made.resize(column.size(), x.size());
    made.col(i) = column;
  }
  return made;
}

/// The x near 0 that minimises |x|^2 + |f(x)|^2.
/// Source    Gauss-Newton with Levenberg's damping: a step is taken when it lowers the sum, and shortened until it does
/// Errors    none: where no step helps, what there is
/// Complexity  at most 50 steps of 2 size + a few calls of f
template <class Function>
[[nodiscard]] Eigen::VectorXd least_squares(Function&& f, Eigen::Index size) {
  Eigen::VectorXd x = Eigen::VectorXd::Zero(size);
  Eigen::VectorXd miss = f(x);
  double sum = miss.squaredNorm();
  double damping = 1e-2;
  for (int round = 0; round < 50; ++round) {
    const Eigen::MatrixXd slope = derivatives(f, x);
    const Eigen::MatrixXd normal = slope.transpose() * slope + Eigen::MatrixXd::Identity(size, size);
    const Eigen::VectorXd down = -(slope.transpose() * miss + x);
    double gained = 0;
    for (int attempt = 0; attempt < 12 && gained == 0; ++attempt) {
      const Eigen::VectorXd step = (normal + damping * Eigen::MatrixXd::Identity(size, size)).ldlt().solve(down);
      const Eigen::VectorXd tried = x + step;
      const Eigen::VectorXd missed = f(tried);
      const double reached = tried.squaredNorm() + missed.squaredNorm();
      if (reached < sum) {
        gained = sum - reached;
        x = tried, miss = missed, sum = reached;
        damping = std::max(damping / 5, 1e-6);
      } else {
        damping *= 5;
      }
    }
    if (gained <= 1e-8 * sum) break;
  }
  return x;
}

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
