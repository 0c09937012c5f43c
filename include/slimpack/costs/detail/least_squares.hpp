#ifndef SLIMPACK_COSTS_DETAIL_LEAST_SQUARES_HPP
#define SLIMPACK_COSTS_DETAIL_LEAST_SQUARES_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <algorithm>

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

}  // namespace slimpack::detail

#endif
