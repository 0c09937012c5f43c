#ifndef SLIMPACK_COSTS_DETAIL_MEASURED_LAYER_HPP
#define SLIMPACK_COSTS_DETAIL_MEASURED_LAYER_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/kernels/token_table.hpp>
#include <slimpack/costs/model/model_shape.hpp>

#include <initializer_list>
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

}  // namespace slimpack::detail

#endif
