#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_SWIGLU_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_SWIGLU_HPP

#include "matrix.hpp"

namespace train {

/// The product inside a gated feed-forward layer: silu(gate) up, with silu(z) = z / (1 + exp(-z)).
/// Source    N. Shazeer, GLU variants improve transformer, arXiv:2002.05202
template <class T>
[[nodiscard]] matrix<T> swiglu(const matrix<T>& gate, const matrix<T>& up) {
  return gate.array() * up.array() / (1 + (-gate.array()).exp());
}

/// Replaces gate and up by their gradients, given the product's.
/// Formula   with s = 1 / (1 + exp(-gate)): d gate = dy up s (1 + gate (1 - s)), d up = dy gate s
template <class T>
void swiglu_backward(matrix<T>& gate, matrix<T>& up, const matrix<T>& dy) {
  Eigen::Array<T, 1, Eigen::Dynamic> s(gate.cols());
  Eigen::Array<T, 1, Eigen::Dynamic> d_up(gate.cols());
  for (Index i = 0; i < gate.rows(); ++i) {
    auto z = gate.row(i).array();
    s = 1 / (1 + (-z).exp());
    d_up = dy.row(i).array() * z * s;
    z = dy.row(i).array() * up.row(i).array() * s * (1 + z * (1 - s));
    up.row(i) = d_up.matrix();
  }
}

}  // namespace train

#endif
