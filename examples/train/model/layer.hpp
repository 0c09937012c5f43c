#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_LAYER_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_LAYER_HPP

#include "attention.hpp"
#include "config.hpp"
#include "linear.hpp"
#include "matrix.hpp"
#include "pack_rows.hpp"
#include "parameters.hpp"
#include "rms_norm.hpp"
#include "rotary.hpp"
#include "swiglu.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace train {

/// One transformer layer, run over a pack: products over all rows at once, attention sequence by sequence.
///   middle = x + attention(norm(x)),   y = middle + down(swiglu(gate(norm(middle)), up(norm(middle))))
/// What backward needs is kept by token; norms and the gated product are computed again. Where weight gradients run apart,
/// backward writes gradients over what nobody needs any more, and leaves what else they need; then only norms are computed
/// again.
template <class T>
class layer {
 public:
  using page = typename slimpack::executors::activation_store<T>::page;

  /// What is kept of a token from forward to backward, in order; queries and keys after their turn.
  enum kept : std::size_t { input, queries, keys, values, attended, log_sum_exp, middle, gates, ups };
  /// What backward leaves beside, where weight gradients run apart. Over queries, keys, values, gates and ups it writes
  /// their gradients.
  enum left : std::size_t { product, output_gradient, middle_gradient };
  /// What its accumulators are, while its sequence runs backward.
  enum accumulated : std::size_t { key_gradients, value_gradients };

  [[nodiscard]] static std::vector<std::size_t> widths_kept(const config& c) {
    const auto h = static_cast<std::size_t>(c.hidden);
    const auto k = static_cast<std::size_t>(c.kv_width());
    const auto f = static_cast<std::size_t>(c.ffn);
    return {h, h, k, k, h, static_cast<std::size_t>(c.heads), h, f, f};
  }
  [[nodiscard]] static std::vector<std::size_t> widths_left(const config& c) {
    const auto h = static_cast<std::size_t>(c.hidden);
    return {static_cast<std::size_t>(c.ffn), h, h};
  }
  [[nodiscard]] static std::vector<std::size_t> widths_accumulated(const config& c) {
    return std::vector<std::size_t>(2, static_cast<std::size_t>(c.kv_width()));
  }

  /// Shapes    `index`: of this layer in its part; its weights begin at tensor `first`
  layer(const config& c, parameters<T>& weights, std::size_t first, std::size_t index)
      : config_(c), index_(index), attention_norm_(weights[first + attention_gain], c.eps),
        ffn_norm_(weights[first + ffn_gain], c.eps), query_(weights[first + query]), key_(weights[first + key]),
        value_(weights[first + value]), out_(weights[first + attention_out]), gate_(weights[first + gate]),
        up_(weights[first + up]), down_(weights[first + down]), attention_(c), rotary_(c) {}

  [[nodiscard]] matrix<T> forward(pack_rows<T>& pack, const matrix<T>& x) {
    pack.write({index_, input}, x);
    const matrix<T> normed = attention_norm_.forward(x);
    matrix<T> q = query_.forward(normed);
    matrix<T> k = key_.forward(normed);
    pack.each_piece([&](const slimpack::piece& p, Index row, Index size) {
      rotary_.turn(q.middleRows(row, size), p.slice.begin.value);
      rotary_.turn(k.middleRows(row, size), p.slice.begin.value);
    });
    pack.write({index_, queries}, q);
    pack.write({index_, keys}, k);
    pack.write({index_, values}, value_.forward(normed));
    pack.share(static_cast<int>(index_), {index_, keys}, {index_, values});
    matrix<T> o(pack.size(), config_.hidden);
    matrix<T> lse(pack.size(), config_.heads);
    pack.each_piece([&](const slimpack::piece& p, Index row, Index size) {
      attention_.forward(q.middleRows(row, size), p.slice.begin.value, blocks_of(pack, p), o.middleRows(row, size),
                         lse.middleRows(row, size));
    });
    pack.write({index_, attended}, o);
    pack.write({index_, log_sum_exp}, lse);
    const matrix<T> sum = x + out_.forward(o);
    pack.write({index_, middle}, sum);
    const matrix<T> again = ffn_norm_.forward(sum);
    const matrix<T> g = gate_.forward(again);
    const matrix<T> u = up_.forward(again);
    pack.write({index_, gates}, g);
    pack.write({index_, ups}, u);
    return sum + down_.forward(swiglu(g, u));
  }

  /// The layer's output again, from what is kept.
  [[nodiscard]] matrix<T> output(pack_rows<T>& pack) {
    return output(pack, swiglu(pack.read({index_, gates}, config_.ffn), pack.read({index_, ups}, config_.ffn)));
  }
  /// The same once backward has left weight gradients.
  [[nodiscard]] matrix<T> output_left(pack_rows<T>& pack) {
    return output(pack, pack.left({index_, product}, config_.ffn));
  }

  /// Its input, and room for the gradient of it where the input can be had otherwise.
  [[nodiscard]] matrix<T> input_of(pack_rows<T>& pack) { return pack.read({index_, input}, config_.hidden); }
  void write_over_input(pack_rows<T>& pack, const matrix<T>& rows) { pack.write({index_, input}, rows); }

  /// Turns the gradient of the layer's output into that of its input.
  void backward(pack_rows<T>& pack, matrix<T>& dx) {
    backward_of_ffn(pack, dx);
    backward_of_attention(pack, dx);
  }

  /// The weight gradients that backward left, given the layer's input.
  void backward_weights(pack_rows<T>& pack, const matrix<T>& x) {
    const matrix<T> u = attention_norm_.without_gain(x);
    query_.backward_weights(u, pack.read({index_, queries}, config_.hidden), attention_norm_.gain());
    key_.backward_weights(u, pack.read({index_, keys}, config_.kv_width()), attention_norm_.gain());
    value_.backward_weights(u, pack.read({index_, values}, config_.kv_width()), attention_norm_.gain());
    out_.backward_weights(pack.read({index_, attended}, config_.hidden),
                          pack.left({index_, middle_gradient}, config_.hidden));
    const matrix<T> again = ffn_norm_.without_gain(pack.read({index_, middle}, config_.hidden));
    gate_.backward_weights(again, pack.read({index_, gates}, config_.ffn), ffn_norm_.gain());
    up_.backward_weights(again, pack.read({index_, ups}, config_.ffn), ffn_norm_.gain());
    down_.backward_weights(pack.left({index_, product}, config_.ffn),
                           pack.left({index_, output_gradient}, config_.hidden));
  }

 private:
  [[nodiscard]] matrix<T> output(pack_rows<T>& pack, const matrix<T>& gated) {
    return pack.read({index_, middle}, config_.hidden) + down_.forward(gated);
  }

  void backward_of_ffn(pack_rows<T>& pack, matrix<T>& dx) {
    matrix<T> g = pack.read({index_, gates}, config_.ffn);
    matrix<T> u = pack.read({index_, ups}, config_.ffn);
    const matrix<T> gated = swiglu(g, u);
    matrix<T> d_product = matrix<T>::Zero(pack.size(), config_.ffn);
    down_.backward_inputs(dx, d_product);
    swiglu_backward(g, u, d_product);
    const matrix<T> sum = pack.read({index_, middle}, config_.hidden);
    if (pack.apart()) {
      pack.leave({index_, product}, gated);
      pack.leave({index_, output_gradient}, dx);
      pack.write({index_, gates}, g);
      pack.write({index_, ups}, u);
    } else {
      const matrix<T> normed = ffn_norm_.forward(sum);
      down_.backward_weights(gated, dx);
      gate_.backward_weights(normed, g);
      up_.backward_weights(normed, u);
    }
    matrix<T> d_normed = matrix<T>::Zero(pack.size(), config_.hidden);
    gate_.backward_inputs(g, d_normed);
    up_.backward_inputs(u, d_normed);
    ffn_norm_.backward(sum, d_normed, dx, pack.apart());
  }

  void backward_of_attention(pack_rows<T>& pack, matrix<T>& dx) {
    const matrix<T> o = pack.read({index_, attended}, config_.hidden);
    matrix<T> d_o = matrix<T>::Zero(pack.size(), config_.hidden);
    out_.backward_inputs(dx, d_o);
    if (pack.apart())
      pack.leave({index_, middle_gradient}, dx);
    else
      out_.backward_weights(o, dx);
    const matrix<T> q = pack.read({index_, queries}, config_.hidden);
    const matrix<T> lse = pack.read({index_, log_sum_exp}, config_.heads);
    matrix<T> dq(pack.size(), config_.hidden);
    matrix<T> dk = matrix<T>::Zero(pack.size(), config_.kv_width());
    matrix<T> dv = matrix<T>::Zero(pack.size(), config_.kv_width());
    pack.each_piece([&](const slimpack::piece& p, Index row, Index size) {
      // A piece without accumulators is a whole sequence: its rows of dk and dv take their place.
      attention_.backward(q.middleRows(row, size), p.slice.begin.value,
                          blocks_of(pack, p, dk.row(row).data(), dv.row(row).data()), o.middleRows(row, size),
                          lse.middleRows(row, size), d_o.middleRows(row, size), dq.middleRows(row, size));
    });
    pack.share_gradients(static_cast<int>(index_), {index_, key_gradients}, {index_, value_gradients});
    pack.each_piece([&](const slimpack::piece& p, Index row, Index size) {
      take_accumulated(pack, p, dk.middleRows(row, size), key_gradients);
      take_accumulated(pack, p, dv.middleRows(row, size), value_gradients);
      rotary_.turn_back(dq.middleRows(row, size), p.slice.begin.value);
      rotary_.turn_back(dk.middleRows(row, size), p.slice.begin.value);
    });
    const matrix<T> x = pack.read({index_, input}, config_.hidden);
    if (pack.apart()) {
      pack.write({index_, queries}, dq);
      pack.write({index_, keys}, dk);
      pack.write({index_, values}, dv);
    } else {
      const matrix<T> normed = attention_norm_.forward(x);
      query_.backward_weights(normed, dq);
      key_.backward_weights(normed, dk);
      value_.backward_weights(normed, dv);
    }
    matrix<T> d_normed = matrix<T>::Zero(pack.size(), config_.hidden);
    query_.backward_inputs(dq, d_normed);
    key_.backward_inputs(dk, d_normed);
    value_.backward_inputs(dv, d_normed);
    attention_norm_.backward(x, d_normed, dx, pack.apart());
  }

  /// Keys and values up to the piece's end where they lie; dk and dv stand in for accumulators that there are none of.
  std::vector<key_value_block<T>> blocks_of(pack_rows<T>& pack, const slimpack::piece& p, T* dk = nullptr,
                                            T* dv = nullptr) const {
    std::vector<key_value_block<T>> blocks;
    pack.each_page_up_to(p, [&](const page& here) {
      const Index begin = here.begin().value;
      const auto accumulator = [&](std::size_t index, T* own) {
        const std::span<T> rows = here.gradients({index_, index});
        return !rows.empty() || own == nullptr ? rows.data() : own + begin * config_.kv_width();
      };
      blocks.push_back({begin, (here.end() - here.begin()).value, here.activations({index_, keys}).data(),
                        here.activations({index_, values}).data(), accumulator(key_gradients, dk),
                        accumulator(value_gradients, dv)});
    });
    return blocks;
  }

  void take_accumulated(pack_rows<T>& pack, const slimpack::piece& p, rows_out<T> rows, std::size_t index) const {
    pack.each_page_of(p, [&](const page& here) {
      const std::span<T> sums = here.gradients({index_, index});
      if (sums.empty()) return;
      const Index size = (here.end() - here.begin()).value;
      rows.middleRows((here.begin() - p.slice.begin).value, size) = matrix_view<T>(sums.data(), size, rows.cols());
    });
  }

  config config_;
  std::size_t index_;
  rms_norm<T> attention_norm_, ffn_norm_;
  linear<T> query_, key_, value_, out_, gate_, up_, down_;
  attention<T> attention_;
  rotary<T> rotary_;
};

}  // namespace train

#endif
