#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_MODEL_PART_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_MODEL_PART_HPP

#include "config.hpp"
#include "documents.hpp"
#include "embedding.hpp"
#include "head.hpp"
#include "layer.hpp"
#include "layer_range.hpp"
#include "matrix.hpp"
#include "mixers/mixer.hpp"
#include "mixers/mixer_choice.hpp"
#include "pack_rows.hpp"
#include "parameters.hpp"
#include "rms_norm.hpp"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace train {

/// The layers of one chunk of a stage, with the embedding before the first and the head after the last; or with the
/// final norm alone after the last, where the vocabulary is spread over the stages.
template <class T>
class model_part {
 public:
  using layout = typename slimpack::executors::activation_store<T>::layout;

  /// Every layer keeps the same of a token, whatever mixes tokens there; accumulators are of attention alone.
  /// Embedding and head keep nothing, nor do they for weight gradients that run apart: the embedding's gradient lies
  /// over the first layer's input, which is looked up again. A part without layers keeps the input of the head, or has
  /// the room for the embedding's gradient.
  [[nodiscard]] static layout layout_of(const config& c, const layer_range& range) {
    if (range.size() == 0) return {{{static_cast<std::size_t>(c.hidden)}}, {{}}, {}, {{}}};
    const auto layers = static_cast<std::size_t>(range.size());
    std::vector<std::vector<std::size_t>> accumulated;
    for (int l = range.first; l < range.last; ++l)
      accumulated.push_back(layer<T>::widths_accumulated(c, c.mixer_of(l)));
    return {{layers, layer<T>::widths_kept(c)},
            std::move(accumulated),
            {kept_rows::keys, kept_rows::values},
            {layers, layer<T>::widths_left(c)}};
  }

  /// Shapes    the part's tensors, as tensors_of lists them, begin at tensor `first`
  model_part(const config& c, const layer_range& range, parameters<T>& weights, std::size_t first,
             const documents& texts)
      : hidden_(c.hidden) {
    if (range.embeds) embedding_.emplace(weights[first++], texts);
    std::size_t states = 0;
    for (int l = range.first; l < range.last; ++l) {
      const mixer_choice which = c.mixer_of(l);
      layers_.emplace_back(c, which, weights, first, layers_.size(), states);
      first += tensors_of_layer(which), states += which.has_state();
    }
    if (range.ends)
      head_.emplace(c, weights, first, texts);
    else if (range.norms)
      norm_.emplace(weights[first], c.eps);
  }
  model_part(model_part&&) = default;  // its layers own their mixers

  /// What goes to the next part; `loss` and `edges` grow by the pack's on the last, where nothing goes on.
  [[nodiscard]] matrix<T> forward(pack_rows<T>& pack, const_matrix_view<T> in, double& loss,
                                  slimpack::edge_values& edges) {
    matrix<T> x = embedding_ ? embedding_->forward(pack) : matrix<T>(in);
    for (layer<T>& l : layers_) x = l.forward(pack, x);
    if (layers_.empty()) pack.write(only, x);
    if (head_) loss += head_->forward(pack, x, edges);
    return norm_ ? norm_->forward(x) : x;
  }

  /// The gradient that goes to the previous part.
  [[nodiscard]] matrix<T> backward(pack_rows<T>& pack, const_matrix_view<T> in) {
    matrix<T> dx = head_   ? head_->backward(pack, layers_.empty() ? kept(pack) : layers_.back().output(pack))
                     : norm_ ? before_norm(layers_.back().output(pack), in)
                           : matrix<T>(in);
    for (std::size_t l = layers_.size(); l-- > 0;) layers_[l].backward(pack, dx);
    if (embedding_ && pack.apart() && layers_.empty())
      pack.write(only, dx);
    else if (embedding_ && pack.apart())
      layers_.front().write_over_input(pack, dx);
    else if (embedding_)
      embedding_->backward(pack, dx);
    return dx;
  }

  /// The weight gradients that backward left.
  void backward_weights(pack_rows<T>& pack) {
    if (head_) head_->backward_weights(pack, layers_.empty() ? kept(pack) : layers_.back().output_left(pack));
    for (std::size_t l = layers_.size(); l-- > 0;)
      layers_[l].backward_weights(pack, l == 0 && embedding_ ? embedding_->forward(pack) : layers_[l].input_of(pack));
    if (embedding_) embedding_->backward(pack, layers_.empty() ? kept(pack) : layers_.front().input_of(pack));
  }

 private:
  static constexpr typename pack_rows<T>::field only{0, 0};  ///< what a part without layers keeps
  [[nodiscard]] matrix<T> kept(pack_rows<T>& pack) const { return pack.read(only, hidden_); }

  /// The gradient before the final norm. That of its gain is added here even where weight gradients run apart: to keep
  /// rows for it alone would cost more than it takes.
  [[nodiscard]] matrix<T> before_norm(const matrix<T>& x, const_matrix_view<T> dy) {
    matrix<T> dx = matrix<T>::Zero(x.rows(), x.cols());
    norm_->backward(x, dy, dx, false);
    return dx;
  }

  Index hidden_;
  std::optional<embedding<T>> embedding_;
  std::vector<layer<T>> layers_;
  std::optional<head<T>> head_;
  std::optional<rms_norm<T>> norm_;  // where the head is not here
};

}  // namespace train

#endif
