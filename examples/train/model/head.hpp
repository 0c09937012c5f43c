#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_HEAD_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_HEAD_HPP

#include "config.hpp"
#include "documents.hpp"
#include "linear.hpp"
#include "matrix.hpp"
#include "pack_rows.hpp"
#include "parameters.hpp"
#include "rms_norm.hpp"
#include "targets.hpp"

#include <slimpack/executors/edge_values.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace train {

/// The end of the model: norm, logits and cross entropy with the next token. Logits exist for a tile of tokens at a
/// time and are computed again in backward, so nothing is kept.
template <class T>
class head {
 public:
  /// Shapes    the final gain is tensor `first`, the head the next
  head(const config& c, parameters<T>& weights, std::size_t first, documents texts)
      : norm_(weights[first], c.eps), logits_(weights[first + 1]), texts_(std::move(texts)) {}

  /// The weighted loss of the pack, in nats: of token t, -log p(token t + 1). To edges it adds each log p.
  [[nodiscard]] double forward(const pack_rows<T>& pack, const matrix<T>& x, slimpack::edge_values& edges) {
    double sum = 0;
    const targets_of_rows targets = targets_of(pack);
    each_tile(x, [&](const matrix<T>&, const matrix<T>&, const matrix<T>& logits, Index row) {
      for (Index i = 0; i < logits.rows(); ++i) {
        if (targets[row + i].size() == 0) continue;
        const T largest = logits.row(i).maxCoeff();
        const T total = (logits.row(i).array() - largest).exp().sum();
        for (const target& next : targets[row + i]) {
          const T loss = largest + std::log(total) - logits(i, next.token);
          sum += next.weighted(static_cast<double>(loss), edges);
        }
      }
    });
    return sum;
  }

  /// The gradient of the weighted loss by x.
  /// Formula   d logits = sum over targets of weight (softmax(logits) - one at the target)
  [[nodiscard]] matrix<T> backward(const pack_rows<T>& pack, const matrix<T>& x) {
    matrix<T> dx = matrix<T>::Zero(x.rows(), x.cols());
    const targets_of_rows targets = targets_of(pack);
    each_tile(x, [&](const matrix<T>& part, const matrix<T>& normed, matrix<T>& d, Index row) {
      differentiate(d, targets, row);
      if (!pack.apart()) logits_.backward_weights(normed, d);
      matrix<T> d_normed = matrix<T>::Zero(part.rows(), part.cols());
      logits_.backward_inputs(d, d_normed);
      matrix<T> d_part = matrix<T>::Zero(part.rows(), part.cols());
      norm_.backward(part, d_normed, d_part, pack.apart());
      dx.middleRows(row, part.rows()) = d_part;
    });
    return dx;
  }

  /// The weight gradients that backward left, for which logits are computed once more.
  void backward_weights(const pack_rows<T>& pack, const matrix<T>& x) {
    const targets_of_rows targets = targets_of(pack);
    each_tile(x, [&](const matrix<T>& part, const matrix<T>&, matrix<T>& d, Index row) {
      differentiate(d, targets, row);
      logits_.backward_weights(norm_.without_gain(part), d, norm_.gain());
    });
  }

 private:
  static constexpr Index tile = 256;

  /// Replaces logits by their gradients.
  static void differentiate(matrix<T>& d, const targets_of_rows& targets, Index row) {
    for (Index i = 0; i < d.rows(); ++i) {
      auto logits = d.row(i).array();
      const T largest = logits.maxCoeff();
      logits = (logits - largest).exp();
      logits *= static_cast<T>(targets[row + i].weight()) / logits.sum();
      for (const target& next : targets[row + i]) logits[next.token] -= static_cast<T>(next.weight);
    }
  }

  /// Calls f(x, normed x, logits, first row) for tiles of the pack.
  template <class F>
  void each_tile(const matrix<T>& x, F&& f) {
    for (Index row = 0; row < x.rows(); row += tile) {
      const matrix<T> part = x.middleRows(row, std::min(tile, x.rows() - row));
      const matrix<T> normed = norm_.forward(part);
      matrix<T> logits = logits_.forward(normed);
      f(part, normed, logits, row);
    }
  }

  [[nodiscard]] targets_of_rows targets_of(const pack_rows<T>& pack) const { return {pack.pieces(), texts_}; }

  rms_norm<T> norm_;
  linear<T> logits_;
  documents texts_;
};

}  // namespace train

#endif
