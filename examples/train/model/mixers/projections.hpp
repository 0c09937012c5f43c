#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_MIXERS_PROJECTIONS_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_MIXERS_PROJECTIONS_HPP

#include "../config.hpp"
#include "../linear.hpp"
#include "../matrix.hpp"
#include "../pack_rows.hpp"
#include "../parameters.hpp"
#include "mixer.hpp"

#include <cstddef>

namespace train {

/// The matrices that every mixer has: of queries, keys and values.
template <class T>
class projections {
  using enum kept_rows::field;

 public:
  /// Shapes    `index`: of their layer in its part, whose weights begin at tensor `first`
  projections(const config& c, parameters<T>& weights, std::size_t first, std::size_t index)
      : hidden_(c.hidden),
        kv_width_(c.kv_width()),
        index_(index),
        query_(weights[first + query]),
        key_(weights[first + key]),
        value_(weights[first + value]) {}

  [[nodiscard]] matrix<T> queries_of(const matrix<T>& x) const { return query_.forward(x); }
  [[nodiscard]] matrix<T> keys_of(const matrix<T>& x) const { return key_.forward(x); }
  [[nodiscard]] matrix<T> values_of(const matrix<T>& x) const { return value_.forward(x); }

  /// Adds to dx, and to weight gradients, or writes the gradients over queries, keys and values, as mixer.hpp says.
  void backward(pack_rows<T>& pack, const matrix<T>& dq, const matrix<T>& dk, const matrix<T>& dv, const matrix<T>& x,
                matrix<T>& dx) {
    if (pack.apart()) {
      pack.write({index_, queries}, dq);
      pack.write({index_, keys}, dk);
      pack.write({index_, values}, dv);
    } else {
      query_.backward_weights(x, dq);
      key_.backward_weights(x, dk);
      value_.backward_weights(x, dv);
    }
    query_.backward_inputs(dq, dx);
    key_.backward_inputs(dk, dx);
    value_.backward_inputs(dv, dx);
  }

  void backward_weights(pack_rows<T>& pack, const matrix<T>& u, typename parameters<T>::view gain) {
    query_.backward_weights(u, pack.read({index_, queries}, hidden_), gain);
    key_.backward_weights(u, pack.read({index_, keys}, kv_width_), gain);
    value_.backward_weights(u, pack.read({index_, values}, kv_width_), gain);
  }

 private:
  Index hidden_;
  Index kv_width_;
  std::size_t index_;
  linear<T> query_, key_, value_;
};

}  // namespace train

#endif
