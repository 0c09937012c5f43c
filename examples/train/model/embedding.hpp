#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_EMBEDDING_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_EMBEDDING_HPP

#include "documents.hpp"
#include "matrix.hpp"
#include "pack_rows.hpp"
#include "parameters.hpp"

#include <cstddef>
#include <utility>

namespace train {

/// A row of the embedding for each token.
template <class T>
class embedding {
 public:
  embedding(typename parameters<T>::view weight, documents texts) : weight_(weight), texts_(std::move(texts)) {}

  [[nodiscard]] matrix<T> forward(const pack_rows<T>& pack) const {
    matrix<T> x(pack.size(), weight_.value.cols());
    each_token(pack, [&](Index row, Index token) { x.row(row) = weight_.value.row(token); });
    return x;
  }

  void backward(const pack_rows<T>& pack, const matrix<T>& dx) {
    each_token(pack, [&](Index row, Index token) { weight_.gradient.row(token) += dx.row(row); });
  }

 private:
  template <class F>
  void each_token(const pack_rows<T>& pack, F&& f) const {
    pack.each_piece([&](const slimpack::piece& p, Index row, Index size) {
      const auto text = texts_(p.slice.sequence);
      for (Index i = 0; i < size; ++i) f(row + i, Index{text[static_cast<std::size_t>(p.slice.begin.value + i)]});
    });
  }

  typename parameters<T>::view weight_;
  documents texts_;
};

}  // namespace train

#endif
