#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_ROTARY_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_ROTARY_HPP

#include "config.hpp"
#include "matrix.hpp"

#include <cmath>

namespace train {

/// Turns element i of a head's first half with element i of its second by the angle position / theta^(2 i / width).
/// Source    J. Su et al., RoFormer, arXiv:2104.09864, halves paired as in Llama
/// Complexity  a table of sine and cosine up to the last position asked for, width / 2 of each
template <class T>
class rotary {
 public:
  explicit rotary(const config& c) : width_(c.head_width()), theta_(c.rope_theta) {}

  /// Turns rows that stand at positions first, first + 1, ...   Shapes  (tokens, heads * width)
  void turn(rows_out<T> rows, Index first) { apply(rows, first, T{1}); }
  /// Turns gradients back, which is the transpose.
  void turn_back(rows_out<T> rows, Index first) { apply(rows, first, T{-1}); }

 private:
  void apply(rows_out<T> rows, Index first, T sign) {
    extend(first + rows.rows());
    const Index half = width_ / 2;
    Eigen::Array<T, 1, Eigen::Dynamic> low(half);
    for (Index i = 0; i < rows.rows(); ++i) {
      const auto cosine = table_.row(first + i).head(half).array();
      const auto sine = table_.row(first + i).tail(half).array() * sign;
      for (Index column = 0; column < rows.cols(); column += width_) {
        auto head = rows.row(i).segment(column, width_).array();
        low = head.head(half) * cosine - head.tail(half) * sine;
        head.tail(half) = head.tail(half) * cosine + head.head(half) * sine;
        head.head(half) = low;
      }
    }
  }

  void extend(Index positions) {
    const Index known = table_.rows();
    if (positions <= known) return;
    const Index half = width_ / 2;
    table_.conservativeResize(positions, width_);
    for (Index p = known; p < positions; ++p)
      for (Index i = 0; i < half; ++i) {
        const double turns = std::pow(theta_, -static_cast<double>(2 * i) / static_cast<double>(width_));
        const double angle = static_cast<double>(p) * turns;
        table_(p, i) = static_cast<T>(std::cos(angle));
        table_(p, half + i) = static_cast<T>(std::sin(angle));
      }
  }

  Index width_;
  double theta_;
  matrix<T> table_;  // [position]: cosines, then sines
};

}  // namespace train

#endif
