#ifndef SLIMPACK_COSTS_MODEL_MODEL_SHAPE_HPP
#define SLIMPACK_COSTS_MODEL_MODEL_SHAPE_HPP

#include <slimpack/costs/model/mixer.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::costs {

/// How tokens find their experts where ranks divide these (shape::expert), and what of the way is waited for.
/// Source    imbalance: 1 + MaxVio_global of loss-free balancing, 0.04 at both sizes of table 2 of arXiv:2408.15664,
///           the method that trained DeepSeek-V3. That is of single experts; ranks with several are more even. With an
///           auxiliary loss the same table has 1.52 and 1.72. overlap: DualPipe (arXiv:2412.19437, section 3.2.1) hides
///           both all-to-alls under the pack that runs the other way; Megatron-LM's dispatcher without
///           --overlap-moe-expert-parallel-comm hides none. nodes: node-limited routing, section 2.1.2 there: at most 4
/// Requires  factors >= 1; 0 <= overlap <= 1
struct routing {
  double imbalance{1.04};            ///< rows of the busiest rank of a group over the mean: the others wait for it
  std::vector<double> imbalances{};  ///< of each mixture-of-experts layer, in order, as measured; empty: `imbalance` of
                                     ///< all
  double overlap{0};                 ///< share of all-to-alls that runs under a layer's own products, if these take as
                                     ///< long
  int nodes{0};  ///< a token goes to at most so many nodes, once to each, and is handed on inside; 0: once to each
                 ///< expert

  /// Of the `index`-th mixture-of-experts layer.
  [[nodiscard]] double of_layer(std::size_t index) const {
    return imbalances.empty() ? imbalance : imbalances.at(index);
  }
  friend bool operator==(const routing&, const routing&) = default;
};

/// What a layer is made of: a mixer, and behind it an MLP, experts, or nothing. It is made of a bool, for models that
/// know only whether a layer has experts.
struct layer_kind {
  bool moe{};                     ///< has experts
  int mixer{};                    ///< which one of model_shape::mixers
  std::int64_t intermediate{-1};  ///< of a dense MLP with a width of its own, 0 where there is no MLP; -1: the model's
  bool further{};  ///< predicts tokens beyond the next one: it has a projection of two hidden states to one before it,
                   ///< and runs the output layer once more (DeepSeek-V3, arXiv:2412.19437, section 2.2)

  constexpr layer_kind(bool has_experts = false, int mixed_by = 0, std::int64_t width = -1,
                       bool predicts_further = false) noexcept
      : moe(has_experts), mixer(mixed_by), intermediate(width), further(predicts_further) {}
  /// Whether it has an MLP or experts.
  [[nodiscard]] constexpr bool has_mlp() const noexcept { return moe || intermediate != 0; }
  friend constexpr auto operator<=>(const layer_kind&, const layer_kind&) = default;
};

/// The dimensions of a decoder-only transformer, as a Hugging Face config.json gives them (io/model_config.hpp).
/// Units     counts and widths in elements
struct model_shape {
  std::string name{};            ///< for reports
  int layers{};                  ///< num_hidden_layers
  std::int64_t hidden{};         ///< hidden_size
  int heads{};                   ///< num_attention_heads
  int kv_heads{};                ///< num_key_value_heads; heads where absent
  std::int64_t head_dim{};       ///< query and key width of a head
  std::int64_t value_dim{};      ///< value width of a head; head_dim but for MLA
  std::int64_t intermediate{};   ///< intermediate_size of dense layers
  std::int64_t vocabulary{};     ///< vocab_size
  bool gated{true};              ///< gate, up and down matrices; false: up and down
  bool tied{};                   ///< tie_word_embeddings
  bool output_gate{};            ///< attention's output is multiplied with a gate of its width
  std::int64_t max_positions{};  ///< max_position_embeddings; 0 where absent

  int experts{};                       ///< routed experts of a mixture-of-experts layer; 0: dense model
  int experts_per_token{};             ///< routed experts that are active for a token
  int shared_experts{};                ///< experts that are active for every token
  std::int64_t expert_intermediate{};  ///< width of one expert
  int dense_layers{};                  ///< first layers that stay dense (first_k_dense_replace)
  std::vector<bool> expert_layers{};   ///< of each layer, whether it has experts; empty: all do after dense_layers
  std::int64_t shared_intermediate{};  ///< width of all shared experts together; 0: shared_experts times that of one
                                       ///< expert

  std::int64_t query_rank{};  ///< MLA q_lora_rank; 0: full query projection
  std::int64_t kv_rank{};     ///< MLA kv_lora_rank; 0: no MLA
  std::int64_t rope_dim{};    ///< MLA qk_rope_head_dim: the part of a key shared by all heads

  std::vector<costs::mixer> mixers{};      ///< the different ones; empty: one, full attention of the heads above
  std::vector<int> mixer_of{};             ///< which one a layer has, of each layer; empty: the first
  std::vector<std::int64_t> mlp_widths{};  ///< of each layer, the width of its dense MLP, 0: it has none; empty:
                                           ///< `intermediate`
  int further{};  ///< how many layers, the last ones, predict tokens beyond the next one: layer_kind::further

  [[nodiscard]] bool is_moe(int layer) const noexcept {
    if (expert_layers.empty()) return experts > 0 && layer >= dense_layers;
    return experts > 0 && of(expert_layers, layer);
  }
  [[nodiscard]] layer_kind kind(int layer) const noexcept {
    const auto i = static_cast<std::size_t>(layer);
    const bool has_experts = is_moe(layer);
    return {has_experts, i < mixer_of.size() ? mixer_of[i] : 0,
            !has_experts && i < mlp_widths.size() ? mlp_widths[i] : -1, layer >= layers - further};
  }
  [[nodiscard]] costs::mixer mixer(layer_kind kind) const noexcept {
    return mixers.empty() ? full_attention(*this) : mixers[static_cast<std::size_t>(kind.mixer)];
  }
  /// Full attention of the model's heads.
  [[nodiscard]] static costs::mixer full_attention(const model_shape& m) noexcept {
    return {.heads = m.heads,
            .kv_heads = m.kv_heads,
            .head_dim = m.head_dim,
            .value_dim = m.value_dim,
            .output_gate = m.output_gate};
  }
  [[nodiscard]] std::int64_t mlp_width(layer_kind kind) const noexcept {
    return kind.intermediate < 0 ? intermediate : kind.intermediate;
  }
  /// How many layers have experts. Those are counted in order: routing::of_layer.
  [[nodiscard]] int moe_layers() const noexcept {
    int count = 0;
    for (int i = 0; i < layers; ++i) count += is_moe(i);
    return count;
  }
  /// Width of all shared experts of a layer together.
  [[nodiscard]] std::int64_t shared_width() const noexcept {
    return shared_intermediate > 0 ? shared_intermediate : shared_experts * expert_intermediate;
  }
  /// The same in widths of one routed expert.
  [[nodiscard]] double shared_in_experts() const noexcept {
    if (shared_intermediate == 0) return shared_experts;
    return static_cast<double>(shared_intermediate) / static_cast<double>(expert_intermediate);
  }
  friend bool operator==(const model_shape&, const model_shape&) = default;

 private:
  [[nodiscard]] static bool of(const std::vector<bool>& each, int layer) noexcept {
    const auto i = static_cast<std::size_t>(layer);
    return i < each.size() && each[i];
  }
};

/// A model whose layers of full attention attend to a share of the pairs alone, in the mean over heads.
/// Source    SampleAttention (arXiv:2406.15486): a window of each head and columns that are chosen as the layer runs
/// Requires  0 < density <= 1            Errors    none
[[nodiscard]] inline model_shape sampled(model_shape m, double density) {
  if (density == 1) return m;
  if (m.mixers.empty()) m.mixers.push_back(model_shape::full_attention(m));
  for (mixer& each : m.mixers)
    if (each.span.how == mixing::full) each.span = {mixing::sampled, 0, density};
  return m;
}

}  // namespace slimpack::costs

#endif
