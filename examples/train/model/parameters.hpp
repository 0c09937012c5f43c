#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_PARAMETERS_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_PARAMETERS_HPP

#include "config.hpp"
#include "layer_range.hpp"
#include "matrix.hpp"
#include "mixers/mixer_choice.hpp"
#include "random.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace train {

/// One weight: a matrix of (outputs, inputs), or one row of gains.
struct tensor {
  std::string name;
  Index rows{};
  Index columns{};
  double deviation{};      ///< of its first values, drawn around 0; with 0 they are all 1, and never decay (gains)
  std::uint64_t stream{};  ///< of random numbers, the same however the model is cut
  Index first{};           ///< of the whole tensor's rows, of which these may be some

  [[nodiscard]] Index size() const noexcept { return rows * columns; }
  [[nodiscard]] bool is_gain() const noexcept { return deviation == 0; }
};

/// The weights of a layer, in the order of tensors_of.
enum layer_tensor : std::size_t {
  attention_gain,
  query,
  key,
  value,
  attention_out,
  ffn_gain,
  gate,
  up,
  down,
  tensors_per_layer,
  state_gate = tensors_per_layer  ///< behind the others, of a layer with a state alone
};
[[nodiscard]] inline std::size_t tensors_of_layer(const mixer_choice& which) {
  return std::size_t{tensors_per_layer} + (which.has_state() ? 1 : 0);
}

/// The tensors of a part: embedding, layers from first to last, final gain and head.
/// Source    deviations as in GPT-2: 0.02, and 0.02 / sqrt(2 layers) for what is added to the residual stream
[[nodiscard]] inline std::vector<tensor> tensors_of(const config& c, const layer_range& part) {
  const double into = 0.02;
  const double onto = 0.02 / std::sqrt(2.0 * c.layers);
  std::vector<tensor> all;
  const auto add = [&](std::string name, int rows, int columns, double deviation, std::uint64_t stream) {
    all.push_back({std::move(name), rows, columns, deviation, stream});
  };
  if (part.embeds) add("embedding", c.vocab, c.hidden, into, 0);
  for (int l = part.first; l < part.last; ++l) {
    const std::string layer = "layers." + std::to_string(l) + ".";
    const std::uint64_t stream = 2 + static_cast<std::uint64_t>(l) * tensors_per_layer;
    add(layer + "attention_gain", 1, c.hidden, 0, stream + attention_gain);
    add(layer + "query", c.hidden, c.hidden, into, stream + query);
    add(layer + "key", c.kv_width(), c.hidden, into, stream + key);
    add(layer + "value", c.kv_width(), c.hidden, into, stream + value);
    add(layer + "attention_out", c.hidden, c.hidden, onto, stream + attention_out);
    add(layer + "ffn_gain", 1, c.hidden, 0, stream + ffn_gain);
    add(layer + "gate", c.ffn, c.hidden, into, stream + gate);
    add(layer + "up", c.ffn, c.hidden, into, stream + up);
    add(layer + "down", c.hidden, c.ffn, onto, stream + down);
    if (c.mixer_of(l).has_state())  // of streams behind those that every layer has
      add(layer + "state_gate", c.heads, c.hidden, into,
          2 + static_cast<std::uint64_t>(c.layers) * tensors_per_layer + static_cast<std::uint64_t>(l));
  }
  if (part.norms) add("final_gain", 1, c.hidden, 0, 0);
  if (part.ends) add("head", c.vocab, c.hidden, into, 1);
  return all;
}

/// The tensors of some words: their rows of embedding and head.
[[nodiscard]] inline std::vector<tensor> tensors_of(const config& c, const word_range& words) {
  return {{"embedding", words.size(), c.hidden, 0.02, 0, words.first},
          {"head", words.size(), c.hidden, 0.02, 1, words.first}};
}

/// The weights of a stage and their gradients, each in one buffer, so that one call reduces all of them.
template <class T>
class parameters {
 public:
  parameters(std::vector<tensor> tensors, std::uint64_t seed) : tensors_(std::move(tensors)) {
    std::size_t size = 0;
    for (const tensor& t : tensors_) {
      offsets_.push_back(size);
      size += static_cast<std::size_t>(t.size());
    }
    gradients_.assign(size, T{});
    values_.reserve(size);
    for (const tensor& t : tensors_)
      for (Index i = t.first * t.columns; i < t.first * t.columns + t.size(); ++i)
        values_.push_back(
            t.is_gain() ? T{1} : static_cast<T>(t.deviation * normal(seed, t.stream, static_cast<std::uint64_t>(i))));
  }

  [[nodiscard]] std::span<const tensor> tensors() const noexcept { return tensors_; }
  [[nodiscard]] std::span<T> values() noexcept { return values_; }
  [[nodiscard]] std::span<T> gradients() noexcept { return gradients_; }
  [[nodiscard]] std::span<T> values(std::size_t tensor) noexcept { return of(values_, tensor); }
  [[nodiscard]] std::span<T> gradients(std::size_t tensor) noexcept { return of(gradients_, tensor); }
  /// Of so many tensors, one after the other.
  [[nodiscard]] std::span<T> gradients(std::size_t first, std::size_t count) noexcept {
    const std::size_t end = first + count < offsets_.size() ? offsets_[first + count] : gradients_.size();
    return std::span<T>(gradients_).subspan(offsets_[first], end - offsets_[first]);
  }
  void zero_gradients() noexcept { std::ranges::fill(gradients_, T{}); }

  /// A tensor and its gradient as layers use them; valid as long as these parameters stay where they are.
  struct view {
    matrix_view<T> value;
    matrix_view<T> gradient;
  };
  [[nodiscard]] view operator[](std::size_t tensor) noexcept {
    const train::tensor& t = tensors_[tensor];
    return {matrix_view<T>(values(tensor).data(), t.rows, t.columns),
            matrix_view<T>(gradients(tensor).data(), t.rows, t.columns)};
  }

 private:
  [[nodiscard]] std::span<T> of(std::vector<T>& buffer, std::size_t tensor) noexcept {
    return std::span<T>(buffer).subspan(offsets_[tensor], static_cast<std::size_t>(tensors_[tensor].size()));
  }

  std::vector<tensor> tensors_;
  std::vector<std::size_t> offsets_;
  std::vector<T> values_;
  std::vector<T> gradients_;
};

}  // namespace train

#endif
