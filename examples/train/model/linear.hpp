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

  /// Adds dy W to dx.
  void backward_inputs(const matrix<T>& dy, matrix<T>& dx) const { dx.noalias() += dy * weight_.value; }

  /// Adds dy^T x to the weight's gradient.
  void backward_weights(const matrix<T>& x, const matrix<T>& dy) { weight_.gradient.noalias() += dy.transpose() * x; }

  /// The same for x = g u, what a norm gave, and adds to the gradient of the norm's gain g what flows to it through
  /// here.
  /// Formula   with s = dy^T u: dW += s g, column by column, and dg += sum over outputs of W s. For dg = sum over
  ///           tokens of (dy W) u, where dy W is what reaches the norm (derived)
  void backward_weights(const matrix<T>& u, const matrix<T>& dy, typename parameters<T>::view gain) {
    const matrix<T> s = dy.transpose() * u;
    weight_.gradient.array() += s.array().rowwise() * gain.value.row(0).array();
    gain.gradient.row(0) += s.cwiseProduct(weight_.value).colwise().sum();
  }

 private:
  typename parameters<T>::view weight_;
};

}  // namespace train

#endif
