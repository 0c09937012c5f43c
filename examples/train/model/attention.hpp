#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_ATTENTION_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_ATTENTION_HPP

#include "config.hpp"
#include "matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace train {

/// Keys and values of some tokens of a sequence, where they lie, and what their gradients are added to in backward.
/// Shapes    (size, kv_width) each
template <class T>
struct key_value_block {
  Index begin{};  ///< position of the first token in its sequence
  Index size{};
  const T* keys{};
  const T* values{};
  T* key_gradients{};
  T* value_gradients{};
};

/// Causal grouped-query attention of one slice over blocks of keys and values, in tiles: no matrix is larger than
/// (64 queries * queries_per_kv, 128 keys), however long the sequence is. With a window of W tokens, a query at
/// position t attends to keys at positions (t - W, t], and tiles that none of a tile's queries attends to are passed
/// over. Dense attention (config::dense) has one tile for all queries of the slice and all keys of a block, as trainers
/// without such a kernel have: it computes scores of keys behind a query, too, and sets them to 0.
/// Source    T. Dao et al., FlashAttention, arXiv:2205.14135, and FlashAttention-2, arXiv:2307.08691: forward keeps the
///           log-sum-exp of each query and head, backward computes the probabilities again from it
template <class T>
class attention {
 public:
  static constexpr Index unlimited = std::numeric_limits<Index>::max() / 2;  ///< a window as large as any sequence

  explicit attention(const config& c, Index window = unlimited)
      : tile_queries_(c.dense ? unlimited : 64),
        tile_keys_(c.dense ? unlimited : 128),
        window_(window),
        kv_heads_(c.kv_heads),
        group_(c.queries_per_kv()),
        width_(c.head_width()),
        kv_width_(c.kv_width()),
        scale_(1 / std::sqrt(static_cast<T>(width_))) {}

  /// Attention to what the blocks hold: all of it, if they hold every token up to the slice's last, or a part to be
  /// merged with others. A query that sees none of it has o = 0 and lse = -infinity.
  /// Shapes    q, o (tokens, heads * width), lse (tokens, heads); the slice begins at `first`, `blocks` are in rising
  ///           order
  void forward(rows_in<T> q, Index first, std::span<const key_value_block<T>> blocks, rows_out<T> o, rows_out<T> lse) {
    make_room(q.rows(), blocks);
    each_tile(q.rows(), [&](Index row, Index size, Index g) {
      const Index rows = group_ * size;
      gather(q, row, size, g, queries_);
      queries_.topRows(rows) *= scale_;
      sums_.topRows(rows).setZero();
      largest_.head(rows).setConstant(-std::numeric_limits<T>::infinity());
      total_.head(rows).setZero();
      each_tile(blocks, first + row, size, [&](const key_value_block<T>& tile) {
        auto scores = scores_.topLeftCorner(rows, tile.size);
        scores.noalias() = queries_.topRows(rows) * head(tile.keys, tile.size, g).transpose();
        for (Index i = 0; i < rows; ++i) {
          const auto [from, to] = visible(first + row + i % size, tile);
          scores.row(i).head(from).setZero();
          scores.row(i).tail(tile.size - to).setZero();
          if (from == to) continue;
          auto s = scores.row(i).segment(from, to - from).array();
          const T largest = std::max(largest_[i], s.maxCoeff());
          const T shrink = std::exp(largest_[i] - largest);
          s = (s - largest).exp();
          total_[i] = total_[i] * shrink + s.sum();
          sums_.row(i) *= shrink;
          largest_[i] = largest;
        }
        sums_.topRows(rows).noalias() += scores * head(tile.values, tile.size, g);
      });
      for (Index i = 0; i < rows; ++i)
        if (total_[i] > 0) sums_.row(i) /= total_[i];
      scatter(sums_, o, row, size, g);
      for (Index r = 0; r < group_; ++r)
        lse.col(g * group_ + r).segment(row, size) =
            largest_.segment(r * size, size) + total_.segment(r * size, size).array().log().matrix();
    });
  }

  /// Adds attention to other keys: o and lse become those of both.
  /// Formula   lse' = log(exp lse + exp other_lse), o' = exp(lse - lse') o + exp(other_lse - lse') other_o
  void merge(rows_in<T> other_o, rows_in<T> other_lse, rows_out<T> o, rows_out<T> lse) const {
    for (Index row = 0; row < o.rows(); ++row)
      for (Index h = 0; h < lse.cols(); ++h) {
        if (other_lse(row, h) == -std::numeric_limits<T>::infinity()) continue;
        const T largest = std::max(lse(row, h), other_lse(row, h));
        const T both = largest + std::log(std::exp(lse(row, h) - largest) + std::exp(other_lse(row, h) - largest));
        o.row(row).segment(h * width_, width_) =
            std::exp(lse(row, h) - both) * o.row(row).segment(h * width_, width_) +
            std::exp(other_lse(row, h) - both) * other_o.row(row).segment(h * width_, width_);
        lse(row, h) = both;
      }
  }

  /// What backward needs of outputs: do o.   Shapes  o, d_o (tokens, heads * width); returns (tokens, heads)
  [[nodiscard]] matrix<T> products(rows_in<T> o, rows_in<T> d_o) const {
    matrix<T> all(o.rows(), kv_heads_ * group_);
    for (Index h = 0; h < all.cols(); ++h)
      all.col(h) = o.middleCols(h * width_, width_).cwiseProduct(d_o.middleCols(h * width_, width_)).rowwise().sum();
    return all;
  }

  /// Sets dq, and adds to the gradients of the blocks; lse and products are those of attention to all keys.
  /// Formula   with p = exp(scale q k - lse): dv += p do, ds = p (do v - do o), dq = scale ds k, dk += scale ds q
  void backward(rows_in<T> q, Index first, std::span<const key_value_block<T>> blocks, rows_in<T> lse,
                rows_in<T> products, rows_in<T> d_o, rows_out<T> dq) {
    make_room(q.rows(), blocks);
    each_tile(q.rows(), [&](Index row, Index size, Index g) {
      const Index rows = group_ * size;
      gather(d_o, row, size, g, outputs_);
      gather(q, row, size, g, queries_);
      queries_.topRows(rows) *= scale_;
      for (Index r = 0; r < group_; ++r) {
        largest_.segment(r * size, size) = lse.col(g * group_ + r).segment(row, size);
        total_.segment(r * size, size) = products.col(g * group_ + r).segment(row, size);
      }
      sums_.topRows(rows).setZero();
      each_tile(blocks, first + row, size, [&](const key_value_block<T>& tile) {
        auto p = scores_.topLeftCorner(rows, tile.size);
        auto ds = slopes_.topLeftCorner(rows, tile.size);
        p.noalias() = queries_.topRows(rows) * head(tile.keys, tile.size, g).transpose();
        ds.noalias() = outputs_.topRows(rows) * head(tile.values, tile.size, g).transpose();
        for (Index i = 0; i < rows; ++i) {
          const auto [from, to] = visible(first + row + i % size, tile);
          p.row(i).head(from).setZero();
          p.row(i).tail(tile.size - to).setZero();
          auto seen = p.row(i).segment(from, to - from).array();
          seen = (seen - largest_[i]).exp();
          ds.row(i).array() = p.row(i).array() * (ds.row(i).array() - total_[i]);
        }
        head(tile.value_gradients, tile.size, g).noalias() += p.transpose() * outputs_.topRows(rows);
        head(tile.key_gradients, tile.size, g).noalias() += ds.transpose() * queries_.topRows(rows);
        sums_.topRows(rows).noalias() += ds * head(tile.keys, tile.size, g);
      });
      sums_.topRows(rows) *= scale_;
      scatter(sums_, dq, row, size, g);
    });
  }

 private:
  using column = Eigen::Matrix<T, Eigen::Dynamic, 1>;

  /// Gives the matrices of a tile the size that tiles of so many queries and of these blocks have at most. It depends
  /// on nothing that ran before, since the last bits of a product depend on how far its rows lie apart.
  void make_room(Index queries, std::span<const key_value_block<T>> blocks) {
    Index keys = tile_keys_;
    if (tile_keys_ == unlimited) {
      keys = 0;
      for (const key_value_block<T>& b : blocks) keys = std::max(keys, b.size);
    }
    const Index rows = group_ * (tile_queries_ == unlimited ? queries : tile_queries_);
    for (matrix<T>* tile : {&queries_, &sums_, &outputs_}) tile->resize(rows, width_);
    for (matrix<T>* tile : {&scores_, &slopes_}) tile->resize(rows, keys);
    for (column* one : {&largest_, &total_}) one->resize(rows);
  }

  /// Tiles of queries: rows [row, row + size) under the heads that share key and value head g.
  template <class F>
  void each_tile(Index rows, F&& f) const {
    for (Index row = 0; row < rows; row += std::min(tile_queries_, rows))
      for (Index g = 0; g < kv_heads_; ++g) f(row, std::min(tile_queries_, rows - row), g);
  }

  /// Tiles of the keys and values that some query of positions [first, first + size) attends to.
  template <class F>
  void each_tile(std::span<const key_value_block<T>> blocks, Index first, Index size_of_queries, F&& f) const {
    const Index begin = first + 1 - window_, end = first + size_of_queries;
    for (const key_value_block<T>& b : blocks) {
      for (Index at = std::max(begin - b.begin, Index{0}); at < b.size && b.begin + at < end;
           at += std::min(tile_keys_, b.size)) {
        const Index size = std::min({tile_keys_, b.size - at, end - b.begin - at});
        const auto from = [&](auto* rows) { return rows == nullptr ? rows : rows + at * kv_width_; };
        f(key_value_block<T>{b.begin + at, size, from(b.keys), from(b.values), from(b.key_gradients),
                             from(b.value_gradients)});
      }
    }
  }

  /// Which keys of a tile the query at a position attends to: [first, second).
  [[nodiscard]] std::pair<Index, Index> visible(Index position, const key_value_block<T>& tile) const {
    const Index end = std::clamp<Index>(position + 1 - tile.begin, 0, tile.size);
    return {std::clamp<Index>(position + 1 - window_ - tile.begin, 0, end), end};
  }

  [[nodiscard]] const_columns_view<T> head(const T* rows, Index size, Index g) const {
    return {rows + g * width_, size, width_, Eigen::OuterStride<>(kv_width_)};
  }
  [[nodiscard]] columns_view<T> head(T* rows, Index size, Index g) const {
    return {rows + g * width_, size, width_, Eigen::OuterStride<>(kv_width_)};
  }

  /// The query heads of a group one below the other, and back.
  void gather(rows_in<T> all, Index row, Index size, Index g, matrix<T>& tile) const {
    for (Index r = 0; r < group_; ++r)
      tile.middleRows(r * size, size) = all.block(row, (g * group_ + r) * width_, size, width_);
  }
  void scatter(const matrix<T>& tile, rows_out<T> all, Index row, Index size, Index g) const {
    for (Index r = 0; r < group_; ++r)
      all.block(row, (g * group_ + r) * width_, size, width_) = tile.middleRows(r * size, size);
  }

  Index tile_queries_;
  Index tile_keys_;
  Index window_;
  Index kv_heads_;
  Index group_;
  Index width_;
  Index kv_width_;
  T scale_;
  matrix<T> queries_, outputs_, sums_;  // a tile of queries each, heads of a group one below the other
  matrix<T> scores_, slopes_;           // a tile of queries by one of keys
  column largest_, total_;              // one for each row of a tile
};

}  // namespace train

#endif
