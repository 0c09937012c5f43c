#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_LINEAR_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_LINEAR_HPP

#include "matrix.hpp"
#include "parameters.hpp"

namespace train {

/// y = x W^T, without bias.
/// Shapes    x (tokens, inputs), W (outputs, inputs), y (tokens, outputs)
template <class T>
class linear {
 public:
  explicit linear(typename parameters<T>::view weight) : weight_(weight) {}

  [[nodiscard]] matrix<T> forward(const matrix<T>& x) const {
    matrix<T> y(x.rows(), weight_.value.rows());
    y.noalias() = x * weight_.value.transpose();
    return y;
  }

  /// Adds dy W to dx, and dy^T x to the weight's gradient.
  void backward(const matrix<T>& x, const matrix<T>& dy, matrix<T>& dx) {
    weight_.gradient.noalias() += dy.transpose() * x;
    dx.noalias() += dy * weight_.value;
  }

 private:
  typename parameters<T>::view weight_;
};

}  // namespace train

#endif
