#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_MIXERS_GATED_RECURRENCE_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_MIXERS_GATED_RECURRENCE_HPP

#include "../config.hpp"
#include "../matrix.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace train {

/// A state that every token goes into, per query head:
///   S_t = a_t S_{t-1} + k_t^T v_t,   o_t = q_t S_t,   S before the first token = 0
/// with a gate a_t in (0, 1) for each head and token, and keys and values that heads / kv_heads heads share.
/// Shapes    q, o (tokens, heads * width), k, v (tokens, kv_heads * width), a (tokens, heads); a state is (heads, width
///           of keys, width of values), one after the other, size() elements
/// Source    the recurrent form of linear attention with a gate per head: T. Dao, A. Gu, arXiv:2405.21060; S. Yang et
///           al., arXiv:2312.06635
/// Law       run over the tokens of a slice from the state before it, whatever slices there are, states have the bits
///           of one run over all tokens of the same q, k, v and a
/// Complexity  O(tokens * heads * width^2)
template <class T>
class gated_recurrence {
 public:
  explicit gated_recurrence(const config& c)
      : heads_(c.heads),
        group_(c.queries_per_kv()),
        width_(c.head_width()),
        inside_((tile + 1) * static_cast<std::size_t>(width_ * width_)) {}

  [[nodiscard]] static std::size_t size(const config& c) {
    return static_cast<std::size_t>(c.hidden) * static_cast<std::size_t>(c.head_width());
  }

  /// Takes the state from before the rows to after them.
  void advance(rows_in<T> k, rows_in<T> v, rows_in<T> a, std::span<T> state) const {
    for (Index h = 0; h < heads_; ++h)
      for (Index t = 0; t < k.rows(); ++t) step(k, v, a, h, t, head(state, h));
  }

  /// The same, with the outputs.
  void forward(rows_in<T> q, rows_in<T> k, rows_in<T> v, rows_in<T> a, std::span<T> state, rows_out<T> o) const {
    for (Index h = 0; h < heads_; ++h) {
      matrix_view<T> s = head(state, h);
      for (Index t = 0; t < q.rows(); ++t) {
        step(k, v, a, h, t, s);
        of(o, h, t).noalias() = of(q, h, t) * s;
      }
    }
  }

  /// Gradients of the rows, and of the state before them in place of that after them. It sets dq and da, and adds to dk
  /// and dv.            state: before the rows
  /// Formula   with D_t the gradient of S_t, D_t = q_t^T do_t + a_{t+1} D_{t+1}, from the last token to the first:
  ///           dq_t = do_t S_t^T, dk_t = v_t D_t^T, dv_t = k_t D_t, da_t = sum(D_t * S_{t-1}), and a_1 D_1 is that of
  ///           the state before. States of a tile of tokens are there at a time, run again from those at its beginning
  void backward(rows_in<T> q, rows_in<T> k, rows_in<T> v, rows_in<T> a, std::span<const T> state, rows_in<T> d_o,
                std::span<T> d_state, rows_out<T> dq, rows_out<T> dk, rows_out<T> dv, rows_out<T> da) {
    const auto tokens = static_cast<std::size_t>(q.rows());
    const auto each = static_cast<std::size_t>(width_ * width_);
    begins_.resize((tokens + tile - 1) / tile * each);
    for (Index h = 0; h < heads_; ++h) {
      matrix_view<T> d = head(d_state, h);
      std::copy_n(state.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(h) * each), each,
                  inside_.begin());
      for (std::size_t t = 0; t < tokens; ++t) {
        if (t % tile == 0) state_at(begins_, t / tile) = state_at(inside_, 0);
        step(k, v, a, h, static_cast<Index>(t), state_at(inside_, 0));
      }
      for (std::size_t first = (tokens + tile - 1) / tile * tile; first > 0;) {
        first -= tile;
        const std::size_t size = std::min(tile, tokens - first);
        state_at(inside_, 0) = state_at(begins_, first / tile);
        for (std::size_t i = 0; i < size; ++i) {
          state_at(inside_, i + 1) = state_at(inside_, i);
          step(k, v, a, h, static_cast<Index>(first + i), state_at(inside_, i + 1));
        }
        for (std::size_t i = size; i-- > 0;) {
          const auto t = static_cast<Index>(first + i);
          d.noalias() += of(q, h, t).transpose() * of(d_o, h, t);
          of(dq, h, t).noalias() = of(d_o, h, t) * state_at(inside_, i + 1).transpose();
          of(dk, h / group_, t).noalias() += of(v, h / group_, t) * d.transpose();
          of(dv, h / group_, t).noalias() += of(k, h / group_, t) * d;
          da(t, h) = d.cwiseProduct(state_at(inside_, i)).sum();
          d *= a(t, h);
        }
      }
    }
  }

 private:
  static constexpr std::size_t tile = 16;

  void step(const rows_in<T>& k, const rows_in<T>& v, const rows_in<T>& a, Index h, Index t, matrix_view<T> s) const {
    s *= a(t, h);
    s.noalias() += of(k, h / group_, t).transpose() * of(v, h / group_, t);
  }

  [[nodiscard]] matrix_view<T> head(std::span<T> state, Index h) const {
    return {state.data() + h * width_ * width_, width_, width_};
  }
  [[nodiscard]] matrix_view<T> state_at(std::vector<T>& all, std::size_t i) const {
    return {all.data() + i * static_cast<std::size_t>(width_ * width_), width_, width_};
  }
  /// A head's columns of a token's row.
  template <class Rows>
  [[nodiscard]] auto of(Rows&& rows, Index h, Index t) const {
    return rows.row(t).segment(h * width_, width_);
  }

  Index heads_;
  Index group_;  // query heads that share keys and values
  Index width_;
  std::vector<T> inside_;  // states of a tile of tokens, behind that before it
  std::vector<T> begins_;  // before each tile
};

}  // namespace train

#endif
