#ifndef SLIMPACK_COSTS_MODEL_LAYER_HPP
#define SLIMPACK_COSTS_MODEL_LAYER_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/costs/model/model_shape.hpp>

#include <cmath>
#include <cstdint>
#include <span>

namespace slimpack::costs {

/// What one transformer layer is made of, on one of `tensor` tensor-parallel ranks. Where `expert` ranks divide the
/// routed experts, whole ones, `imbalance` is the rows of the busiest of these ranks over the mean.
/// Source    operation and parameter counts of the matrices; 2 flops per multiply-add. For plain attention (h query
///           width, k key/value width, f feed-forward width): forward linear 2 (2h^2 + 2hk + 3hf) flops a token; MLA by
///           its own projections. A layer with a state has that one's projections, and attention as the model has it
/// Shapes    key/value heads are replicated when there are more ranks than heads
/// Units     weights and widths in elements of one rank, but for `hidden`; flops a token, of one rank
struct layer {
  double weights{};         ///< all matrices, every expert that expert-parallel ranks do not divide
  double expert_weights{};  ///< matrices of this rank's routed experts where expert-parallel ranks divide them
  double dispatched{};      ///< where they do: elements of the hidden states that its experts get, for each token that
                            ///< the tensor-parallel ranks hold together
  double linear_flops{};    ///< forward, active experts only
  double pair_flops{};      ///< forward, per attended (query, key) pair: scores and weighted values
  double up_flops{};        ///< of linear_flops, the gate and up projections: what selective recompute repeats
  double tensor{};          ///< tensor-parallel ranks
  double hidden{};          ///< of the whole model
  double heads{};           ///< query heads
  double query{};           ///< width of the queries of all heads
  double output{};          ///< width of the attention output, before its projection
  double kv_elements{};     ///< keys and values of a token
  double feed_forward{};    ///< inner width of the MLP; of all active experts
  double gate{};            ///< of the MLP's gate: feed_forward, or 0 without one

  static layer of(const model_shape& m, layer_kind kind, int tensor, int expert = 1, double imbalance = 1) {
    const bool moe = kind.moe;
    const auto t = static_cast<double>(tensor);
    const auto h = static_cast<double>(m.hidden);
    const double heads = m.heads / t;
    const double kv_heads = m.kv_rank > 0 ? heads : std::ceil(m.kv_heads / t);
    const auto qk = static_cast<double>(m.head_dim);
    const auto v = static_cast<double>(m.value_dim);
    double attention = heads * v * h * (m.output_gate ? 2 : 1);  // output projection, and gate
    if (kind.state) {
      attention = h * static_cast<double>(m.state_in + m.state_out) / t;
    } else if (m.kv_rank > 0) {
      const auto kv_rank = static_cast<double>(m.kv_rank);
      const auto query_rank = static_cast<double>(m.query_rank);
      const auto rope = static_cast<double>(m.rope_dim);
      attention += query_rank > 0 ? h * query_rank / t + query_rank * heads * qk : h * heads * qk;
      attention += h * (kv_rank + rope) / t + kv_rank * heads * (qk - rope + v);
    } else {
      attention += h * heads * qk + h * kv_heads * (qk + v);
    }
    const double matrices = m.gated ? 3 : 2;
    const auto f = static_cast<double>(moe ? m.expert_intermediate : m.intermediate) / t;
    const bool divided = moe && expert > 1;
    const double routed = divided ? imbalance * m.experts_per_token : m.experts_per_token;
    const double shared = m.shared_in_experts();
    const double active = moe ? routed + shared : 1;
    const double stored = divided ? shared : moe ? m.experts + shared : 1;
    const double router = moe ? h * m.experts / t : 0;

    layer l;
    l.weights = attention + router + stored * matrices * h * f;
    if (divided) {
      l.expert_weights = matrices * h * static_cast<double>(m.expert_intermediate) * (m.experts / expert);
      l.dispatched = routed * h / t;
    }
    l.linear_flops = 2 * (attention + router + active * matrices * h * f);
    l.pair_flops = 2 * heads * (qk + v);
    l.up_flops = 2 * active * (matrices - 1) * h * f;
    l.kv_elements = kv_heads * (qk + v);
    l.tensor = t;
    l.hidden = h;
    l.heads = heads;
    l.query = heads * qk;
    l.output = heads * v;
    l.feed_forward = active * f;
    l.gate = m.gated ? l.feed_forward : 0;
    return l;
  }
};

/// Parameters of the whole model: layers, embedding and head (once when tied), no norms or biases.
[[nodiscard]] inline double parameters(const model_shape& m) {
  double sum = static_cast<double>(m.vocabulary * m.hidden) * (m.tied ? 1 : 2);
  for (int i = 0; i < m.layers; ++i) sum += layer::of(m, m.kind(i), 1).weights;
  return sum;
}

/// Those that a token is multiplied with: of the routed experts those it goes to, and of the vocabulary the head alone.
[[nodiscard]] inline double active_parameters(const model_shape& m) {
  double sum = static_cast<double>(m.vocabulary * m.hidden);
  for (int i = 0; i < m.layers; ++i) sum += layer::of(m, m.kind(i), 1).linear_flops / 2;
  return sum;
}

/// Operations that training on these sequences needs, forward and backward, nothing computed again: the numerator of
/// model flops utilisation (MFU), whose denominator is the peak of all GPUs over the time of the step.
/// Formula   6 N a token and 3 (pair flops) a query and key that it attends to. N: the weights that a token is
///           multiplied with, logits among them, the embedding and experts that it does not go to left out. Pairs:
///           those of causal attention, n (n + 1) / 2, so that no training has more than its GPUs can do
/// Source    PaLM (arXiv:2204.02311), appendix B. Some publications count the whole square of attention, whose MFU of
///           long sequences is larger by up to twice
/// Units     floating-point operations            Errors    none            Complexity  O(layers + sequences)
[[nodiscard]] inline double training_flops(const model_shape& m, std::span<const tokens> lengths) {
  double linear = 2 * static_cast<double>(m.hidden * m.vocabulary), pair = 0;
  for (int i = 0; i < m.layers; ++i) {
    const layer l = layer::of(m, m.kind(i), 1);
    linear += l.linear_flops, pair += l.pair_flops;
  }
  double all = 0;
  for (const tokens length : lengths) {
    const auto n = static_cast<double>(length.value);
    all += n * linear + n * (n + 1) / 2 * pair;
  }
  return 3 * all;
}

}  // namespace slimpack::costs

#endif
