#ifndef SLIMPACK_COSTS_DETAIL_MEASURED_LAYER_HPP
#define SLIMPACK_COSTS_DETAIL_MEASURED_LAYER_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/kernels/token_table.hpp>
#include <slimpack/costs/model/model_shape.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Forward times of a dense layer of just these dimensions, where all its operations were measured.
class measured_layer {
 public:
  /// Nothing where no sample is of this layer on so many tensor-parallel ranks.
  [[nodiscard]] static std::optional<measured_layer> of(std::span<const costs::layer_sample> samples,
                                                        const costs::model_shape& m, int tensor) {
    std::vector<costs::token_table::point> products, hidden, inner;
    for (const costs::layer_sample& s : samples) {
      if (s.hidden != m.hidden || s.ffn != m.intermediate || s.q_heads != m.heads || s.kv_heads != m.kv_heads ||
          s.tensor != tensor || m.kv_rank > 0)
        continue;
      add(products, s.tokens, {s.attn_pre_proj, s.attn_post_proj, s.mlp_up_proj, s.mlp_down_proj});
      add(hidden, s.tokens, {s.input_layernorm, s.post_attention_layernorm, s.add, s.add});
      add(inner, s.tokens, {s.attn_rope, s.mlp_act});
    }
    if (products.empty() || hidden.empty() || inner.empty()) return std::nullopt;
    return measured_layer{costs::token_table(std::move(products)), costs::token_table(std::move(hidden)),
                          costs::token_table(std::move(inner))};
  }

  costs::token_table products;
  costs::token_table hidden;  ///< norms and residual additions, of tokens that sequence parallelism divides
  costs::token_table inner;   ///< positions and activation

 private:
  measured_layer(costs::token_table of_products, costs::token_table of_hidden, costs::token_table of_inner)
      : products(std::move(of_products)), hidden(std::move(of_hidden)), inner(std::move(of_inner)) {}

  static void add(std::vector<costs::token_table::point>& to, tokens size,
                  std::initializer_list<std::optional<seconds>> operations) {
    seconds sum{};
    for (const std::optional<seconds>& t : operations) {
      if (!t) return;
      sum += *t;
    }
    to.push_back({size, sum});
  }
};

/// How much longer the operations of layers took where they were measured on this GPU than the sum of their kernels:
/// what a layer that was not measured itself is likely to take over its own sum. Kernels of a layer are another
/// collection than tables of single products: another version of the libraries, and no kernel twice in a row.
/// Source    fitted, not a term of its own: medians of ratios over all measured layers and tensor-parallel ranks, of
///           products at each number of tokens, from 512 tokens on, as training has them: below, launches count that
///           other constants stand for. Why a layer takes longer than its kernels is not known here, so that this is
///           worth what it says of models that it has not seen, and has a goal there.
///           Llama-2-7B and Llama-2-70B on an H100, and Llama-3-8B and Llama-2-70B on an A100, tell each other's
///           layers: benchmarks/fidelity/layer_operations.cpp
/// Errors    none            Complexity  O(log samples) a question
class other_layers {
 public:
  /// The kernels of one layer, without attention and traffic.
  struct sums {
    seconds products{};
    seconds hidden{};  ///< norms and residual additions
    seconds inner{};   ///< positions and activation
  };

  /// `composed(model, tensor ranks, tokens)`: the sums of a layer's kernels. Nothing where no sample is complete, or
  /// where the layer is built of other operations than the measured ones: a plain MLP, or MLA.
  /// Complexity  O(samples) questions to kernels
  template <class Composed>
  [[nodiscard]] static std::optional<other_layers> of(std::span<const costs::layer_sample> samples,
                                                      const costs::model_shape& m, const Composed& composed) {
    if (!m.gated || m.kv_rank > 0) return std::nullopt;
    std::map<tokens, std::vector<double>> products;
    std::vector<double> hidden, inner;
    for (const costs::layer_sample& s : samples) {
      if (s.tokens < tokens{512} || s.q_heads % s.tensor != 0) continue;
      const std::optional<seconds> multiplied =
          sum({s.attn_pre_proj, s.attn_post_proj, s.mlp_up_proj, s.mlp_down_proj});
      const std::optional<seconds> outer = sum({s.input_layernorm, s.post_attention_layernorm, s.add, s.add});
      const std::optional<seconds> within = sum({s.attn_rope, s.mlp_act});
      if (!multiplied || !outer || !within) continue;
      costs::model_shape other = m;
      other.hidden = s.hidden, other.intermediate = s.ffn, other.heads = s.q_heads, other.kv_heads = s.kv_heads;
      other.head_dim = other.value_dim = s.hidden / s.q_heads;
      const sums kernels = composed(other, s.tensor, s.tokens);
      products[s.tokens].push_back(*multiplied / kernels.products);
      hidden.push_back(*outer / kernels.hidden);
      inner.push_back(*within / kernels.inner);
    }
    if (products.empty()) return std::nullopt;
    other_layers made(median(hidden), median(inner));
    for (auto& [size, ratios] : products) made.products_.push_back({size, median(ratios)});
    return made;
  }

  /// Between measured numbers of tokens a straight line; below and above the nearest.
  [[nodiscard]] double products(tokens size) const noexcept {
    const auto after = std::lower_bound(products_.begin(), products_.end(), size,
                                        [](const point& p, tokens wanted) { return p.size < wanted; });
    if (after == products_.begin()) return after->ratio;
    if (after == products_.end()) return products_.back().ratio;
    const point& before = *(after - 1);
    return before.ratio + (after->ratio - before.ratio) * ((size - before.size) / (after->size - before.size));
  }
  [[nodiscard]] double hidden() const noexcept { return hidden_; }
  [[nodiscard]] double inner() const noexcept { return inner_; }

 private:
  struct point {
    tokens size;
    double ratio;
  };

  other_layers(double hidden, double inner) : hidden_(hidden), inner_(inner) {}

  static std::optional<seconds> sum(std::initializer_list<std::optional<seconds>> operations) {
    seconds all{};
    for (const std::optional<seconds>& t : operations) {
      if (!t) return std::nullopt;
      all += *t;
    }
    return all;
  }
  static double median(std::vector<double>& of) {
    const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
    std::nth_element(of.begin(), middle, of.end());
    return *middle;
  }

  std::vector<point> products_;  // by size
  double hidden_;
  double inner_;
};

}  // namespace slimpack::detail

#endif
