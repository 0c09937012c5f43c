#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_RMS_NORM_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_RMS_NORM_HPP

#include "matrix.hpp"
#include "parameters.hpp"

#include <cmath>

namespace train {

/// y = g x / r with r = sqrt(mean(x^2) + eps), for each row on its own.
/// Source    B. Zhang, R. Sennrich, Root mean square layer normalization, arXiv:1910.07467
template <class T>
class rms_norm {
 public:
  rms_norm(typename parameters<T>::view gain, double eps) : gain_(gain), eps_(static_cast<T>(eps)) {}

  [[nodiscard]] matrix<T> forward(const matrix<T>& x) const {
    matrix<T> y(x.rows(), x.cols());
    for (Index i = 0; i < x.rows(); ++i) y.row(i).array() = x.row(i).array() * gain_.value.row(0).array() / root(x, i);
    return y;
  }

  /// u = x / r
  [[nodiscard]] matrix<T> without_gain(const matrix<T>& x) const {
    matrix<T> u(x.rows(), x.cols());
    for (Index i = 0; i < x.rows(); ++i) u.row(i) = x.row(i) / root(x, i);
    return u;
  }
  [[nodiscard]] typename parameters<T>::view gain() const noexcept { return gain_; }

  /// Adds to dx what flows back through the norm, and to the gain's gradient; not to that where weight gradients run
  /// apart, with which it comes (linear::backward_weights).
  /// Formula   with u = x / r: dx = (g dy - u mean(g dy u)) / r, dg = sum over rows of dy u (derived)
  void backward(const matrix<T>& x, const matrix<T>& dy, matrix<T>& dx, bool apart) {
    Eigen::Array<T, 1, Eigen::Dynamic> u(x.cols());
    Eigen::Array<T, 1, Eigen::Dynamic> du(x.cols());
    for (Index i = 0; i < x.rows(); ++i) {
      const T r = root(x, i);
      u = x.row(i).array() / r;
      du = dy.row(i).array() * gain_.value.row(0).array();
      if (!apart) gain_.gradient.row(0).array() += dy.row(i).array() * u;
      dx.row(i).array() += (du - u * (du * u).mean()) / r;
    }
  }

 private:
  [[nodiscard]] T root(const matrix<T>& x, Index i) const {
    return std::sqrt(x.row(i).squaredNorm() / static_cast<T>(x.cols()) + eps_);
  }

  typename parameters<T>::view gain_;
  T eps_;
};

}  // namespace train

#endif
