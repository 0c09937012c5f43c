#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_LAYER_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_LAYER_HPP

#include "config.hpp"
#include "linear.hpp"
#include "matrix.hpp"
#include "mixers/attention_mixer.hpp"
#include "mixers/linear_mixer.hpp"
#include "mixers/mixer.hpp"
#include "mixers/mixer_choice.hpp"
#include "pack_rows.hpp"
#include "parameters.hpp"
#include "rms_norm.hpp"
#include "swiglu.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace train {

/// One transformer layer, run over a pack: products over all rows at once, what mixes tokens sequence by sequence.
///   middle = x + out(mixer(norm(x))),   y = middle + down(swiglu(gate(norm(middle)), up(norm(middle))))
/// What backward needs is kept by token; norms and the gated product are computed again, unless the model keeps their
/// outputs as well (config::recompute). Where weight gradients run apart, backward writes gradients over what nobody
/// needs any more, and leaves what else they need; then only norms are computed again, before their gains.
template <class T>
class layer {
  using enum kept_rows::field;

 public:
  /// What backward leaves beside, where weight gradients run apart; the product, where it is not kept. Over what the
  /// mixer keeps, gates and ups it writes their gradients.
  enum left : std::size_t { output_gradient, middle_gradient, product };

  [[nodiscard]] static std::vector<std::size_t> widths_kept(const config& c) {
    const auto h = static_cast<std::size_t>(c.hidden);
    const auto k = static_cast<std::size_t>(c.kv_width());
    const auto f = static_cast<std::size_t>(c.ffn);
    std::vector<std::size_t> widths{h, h, k, k, h, static_cast<std::size_t>(c.heads), h, f, f};
    if (c.keeps_outputs()) widths.insert(widths.end(), {h, h, f});
    return widths;
  }
  /// What its accumulators are, while its sequence runs backward: of a layer with a state none.
  [[nodiscard]] static std::vector<std::size_t> widths_accumulated(const config& c, const mixer_choice& which) {
    return which.has_state() ? std::vector<std::size_t>{} : attention_mixer<T>::widths_accumulated(c);
  }
  [[nodiscard]] static std::vector<std::size_t> widths_left(const config& c) {
    std::vector<std::size_t> widths(2, static_cast<std::size_t>(c.hidden));
    if (!c.keeps_outputs()) widths.push_back(static_cast<std::size_t>(c.ffn));
    return widths;
  }
  /// Shapes    `index`: of this layer in its part, `state`: how many before it there have one; its weights begin at
  ///           tensor `first`
  layer(const config& c, const mixer_choice& which, parameters<T>& weights, std::size_t first, std::size_t index,
        std::size_t state)
      : config_(c),
        index_(index),
        attention_norm_(weights[first + attention_gain], c.eps),
        ffn_norm_(weights[first + ffn_gain], c.eps),
        mixer_(mixer_of(c, which, weights, first, index, state)),
        out_(weights[first + attention_out]),
        gate_(weights[first + gate]),
        up_(weights[first + up]),
        down_(weights[first + down]) {}

  [[nodiscard]] matrix<T> forward(pack_rows<T>& pack, const matrix<T>& x) {
    mixer_->begin_forward(pack);
    pack.write({index_, input}, x);
    const matrix<T> normed = attention_norm_.forward(x);
    if (config_.keeps_outputs()) pack.write({index_, attention_normed}, normed);
    const matrix<T> o = mixer_->forward(pack, normed);
    pack.write({index_, attended}, o);
    const matrix<T> sum = x + out_.forward(o);
    pack.write({index_, middle}, sum);
    const matrix<T> again = ffn_norm_.forward(sum);
    const matrix<T> g = gate_.forward(again);
    const matrix<T> u = up_.forward(again);
    pack.write({index_, gates}, g);
    pack.write({index_, ups}, u);
    const matrix<T> both = swiglu(g, u);
    if (config_.keeps_outputs()) {
      pack.write({index_, ffn_normed}, again);
      pack.write({index_, gated}, both);
    }
    return sum + down_.forward(both);
  }

  /// The layer's output again, from what is kept.
  [[nodiscard]] matrix<T> output(pack_rows<T>& pack) {
    if (config_.keeps_outputs()) return output(pack, pack.read({index_, gated}, config_.ffn));
    return output(pack, swiglu(pack.read({index_, gates}, config_.ffn), pack.read({index_, ups}, config_.ffn)));
  }
  /// The same once backward has left weight gradients.
  [[nodiscard]] matrix<T> output_left(pack_rows<T>& pack) { return output(pack, product_left(pack)); }

  /// Its input, and room for the gradient of it where the input can be had otherwise.
  [[nodiscard]] matrix<T> input_of(pack_rows<T>& pack) { return pack.read({index_, input}, config_.hidden); }
  void write_over_input(pack_rows<T>& pack, const matrix<T>& rows) { pack.write({index_, input}, rows); }

  /// Turns the gradient of the layer's output into that of its input.
  void backward(pack_rows<T>& pack, matrix<T>& dx) {
    backward_of_ffn(pack, dx);
    backward_of_mixer(pack, dx);
  }

  /// The weight gradients that backward left, given the layer's input.
  void backward_weights(pack_rows<T>& pack, const matrix<T>& x) {
    const matrix<T> u = attention_norm_.without_gain(x);
    mixer_->backward_weights(pack, u, attention_norm_.gain());
    out_.backward_weights(pack.read({index_, attended}, config_.hidden),
                          pack.left({index_, middle_gradient}, config_.hidden));
    const matrix<T> again = ffn_norm_.without_gain(pack.read({index_, middle}, config_.hidden));
    gate_.backward_weights(again, pack.read({index_, gates}, config_.ffn), ffn_norm_.gain());
    up_.backward_weights(again, pack.read({index_, ups}, config_.ffn), ffn_norm_.gain());
    down_.backward_weights(product_left(pack), pack.left({index_, output_gradient}, config_.hidden));
  }

 private:
  [[nodiscard]] static std::unique_ptr<mixer<T>> mixer_of(const config& c, const mixer_choice& which,
                                                          parameters<T>& weights, std::size_t first, std::size_t index,
                                                          std::size_t state) {
    if (which.has_state()) return std::make_unique<linear_mixer<T>>(c, weights, first, index, state);
    return std::make_unique<attention_mixer<T>>(c, which, weights, first, index);
  }

  [[nodiscard]] matrix<T> output(pack_rows<T>& pack, const matrix<T>& both) {
    return pack.read({index_, middle}, config_.hidden) + down_.forward(both);
  }
  [[nodiscard]] matrix<T> product_left(pack_rows<T>& pack) {
    return config_.keeps_outputs() ? pack.read({index_, gated}, config_.ffn)
                                   : pack.left({index_, product}, config_.ffn);
  }
  /// A norm's output, of its input: as it was kept, or once more.
  [[nodiscard]] matrix<T> norm_output(pack_rows<T>& pack, kept_rows::field which, const rms_norm<T>& norm,
                                      const matrix<T>& x) {
    return config_.keeps_outputs() ? pack.read({index_, which}, config_.hidden) : norm.forward(x);
  }

  void backward_of_ffn(pack_rows<T>& pack, matrix<T>& dx) {
    matrix<T> g = pack.read({index_, gates}, config_.ffn);
    matrix<T> u = pack.read({index_, ups}, config_.ffn);
    const matrix<T> both = config_.keeps_outputs() ? pack.read({index_, gated}, config_.ffn) : swiglu(g, u);
    matrix<T> d_product = matrix<T>::Zero(pack.size(), config_.ffn);
    down_.backward_inputs(dx, d_product);
    swiglu_backward(g, u, d_product);
    const matrix<T> sum = pack.read({index_, middle}, config_.hidden);
    if (pack.apart()) {
      if (!config_.keeps_outputs()) pack.leave({index_, product}, both);
      pack.leave({index_, output_gradient}, dx);
      pack.write({index_, gates}, g);
      pack.write({index_, ups}, u);
    } else {
      const matrix<T> again = norm_output(pack, ffn_normed, ffn_norm_, sum);
      down_.backward_weights(both, dx);
      gate_.backward_weights(again, g);
      up_.backward_weights(again, u);
    }
    matrix<T> d_normed = matrix<T>::Zero(pack.size(), config_.hidden);
    gate_.backward_inputs(g, d_normed);
    up_.backward_inputs(u, d_normed);
    ffn_norm_.backward(sum, d_normed, dx, pack.apart());
  }

  void backward_of_mixer(pack_rows<T>& pack, matrix<T>& dx) {
    mixer_->begin_backward(pack);
    const matrix<T> o = pack.read({index_, attended}, config_.hidden);
    matrix<T> d_o = matrix<T>::Zero(pack.size(), config_.hidden);
    out_.backward_inputs(dx, d_o);
    if (pack.apart())
      pack.leave({index_, middle_gradient}, dx);
    else
      out_.backward_weights(o, dx);
    const matrix<T> x = pack.read({index_, input}, config_.hidden);
    matrix<T> d_normed = matrix<T>::Zero(pack.size(), config_.hidden);
    mixer_->backward(pack, o, d_o, pack.apart() ? matrix<T>() : norm_output(pack, attention_normed, attention_norm_, x),
                     d_normed);
    attention_norm_.backward(x, d_normed, dx, pack.apart());
  }

  config config_;
  std::size_t index_;
  rms_norm<T> attention_norm_, ffn_norm_;
  std::unique_ptr<mixer<T>> mixer_;
  linear<T> out_, gate_, up_, down_;
};

}  // namespace train

#endif
