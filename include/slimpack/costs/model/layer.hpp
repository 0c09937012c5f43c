#ifndef SLIMPACK_COSTS_MODEL_LAYER_HPP
#define SLIMPACK_COSTS_MODEL_LAYER_HPP

#include <slimpack/costs/model/model_shape.hpp>

#include <cmath>
#include <cstdint>

namespace slimpack::costs {

/// What one transformer layer is made of, on one of `tensor` tensor-parallel ranks. Where `expert` ranks divide the
/// routed experts, whole ones, `imbalance` is the rows of the busiest of these ranks over the mean.
/// Source    operation and parameter counts of the matrices; 2 flops per multiply-add. For plain attention (h query
///           width, k key/value width, f feed-forward width): forward linear 2 (2h^2 + 2hk + 3hf) flops a token; MLA by
///           its own projections; an indexer's queries come from what MLA's do, its keys and the weights of its heads
///           from the hidden states (DeepSeek-V3.2); a state has what mixer::in, inner and out say
/// Shapes    key/value heads are replicated when there are more ranks than heads
/// Units     weights and widths in elements of one rank, but for `hidden`; flops a token, of one rank
struct layer {
  double weights{};         ///< all matrices, every expert that expert-parallel ranks do not divide
  double expert_weights{};  ///< matrices of this rank's routed experts where expert-parallel ranks divide them
  double dispatched{};      ///< where they do: elements of the hidden states that its experts get, for each token that
                            ///< the tensor-parallel ranks hold together
  double linear_flops{};    ///< forward, active experts only
  attention_span span{};    ///< which keys its queries attend to
  double pair_flops{};      ///< forward, per attended (query, key) pair: scores and weighted values
  double index_flops{};     ///< forward, per pair of full attention: an indexer's scores
  double scan_flops{};      ///< forward, a token: a state's recurrence
  double chunk_flops{};     ///< forward, a token: what a kernel that scans by chunks takes besides
  double state_bytes{};     ///< what a slice hands to the next one of its sequence
  double up_flops{};        ///< of linear_flops, the gate and up projections: what selective recompute repeats
  double blocks{2};         ///< a mixer, an MLP or both: each has a norm before it and a residual addition behind it
  double tensor{};          ///< tensor-parallel ranks
  double hidden{};          ///< of the whole model
  double heads{};           ///< query heads
  double query{};           ///< width of the queries of all heads; of a state, of all that is projected
  double output{};          ///< width of what the output projection reads
  double kv_elements{};     ///< keys and values of a token
  double feed_forward{};    ///< inner width of the MLP; of all active experts
  double gate{};            ///< of the MLP's gate: feed_forward, or 0 without one

  static layer of(const model_shape& m, layer_kind kind, int tensor, int expert = 1, double imbalance = 1) {
    const bool moe = kind.moe;
    const mixer by = m.mixer(kind);
    const auto t = static_cast<double>(tensor);
    const auto h = static_cast<double>(m.hidden);
    const double heads = by.heads / t;
    const bool latent = by.attends() && m.kv_rank > 0;
    const double kv_heads = latent ? heads : std::ceil(by.kv_heads / t);
    const auto qk = static_cast<double>(by.head_dim);
    const auto v = static_cast<double>(by.value_dim);
    double attention = 0;
    if (by.has_state()) {
      attention = (h * static_cast<double>(by.in + by.out) + static_cast<double>(by.inner)) / t;
    } else if (by.attends()) {
      attention = heads * v * h * (by.output_gate ? 2 : 1);  // output projection, and gate
      if (latent) {
        const auto kv_rank = static_cast<double>(m.kv_rank);
        const auto query_rank = static_cast<double>(m.query_rank);
        const auto rope = static_cast<double>(m.rope_dim);
        attention += query_rank > 0 ? h * query_rank / t + query_rank * heads * qk : h * heads * qk;
        attention += h * (kv_rank + rope) / t + kv_rank * heads * (qk - rope + v);
      } else {
        attention += h * heads * qk + h * kv_heads * (qk + v);
      }
      const auto index = static_cast<double>(by.index_heads) * static_cast<double>(by.index_width);
      const auto from = static_cast<double>(m.query_rank > 0 ? m.query_rank : m.hidden);
      attention += (from * index + h * static_cast<double>(by.index_width + by.index_heads)) / t;
    }
    const double projection = kind.further ? 2 * h * h / t : 0;
    const double matrices = m.gated ? 3 : 2;
    const auto f = static_cast<double>(moe ? m.expert_intermediate : m.mlp_width(kind)) / t;
    const bool divided = moe && expert > 1;
    const double routed = divided ? imbalance * m.experts_per_token : m.experts_per_token;
    const double shared = m.shared_in_experts();
    const double active = moe ? routed + shared : 1;
    const double stored = divided ? shared : moe ? m.experts + shared : 1;
    const double router = moe ? h * m.experts / t : 0;

    layer l;
    l.weights = attention + projection + router + stored * matrices * h * f;
    if (divided) {
      l.expert_weights = matrices * h * static_cast<double>(m.expert_intermediate) * (m.experts / expert);
      l.dispatched = routed * h / t;
    }
    l.linear_flops = 2 * (attention + projection + router + active * matrices * h * f);
    l.span = by.span;
    if (by.attends()) l.pair_flops = 2 * heads * (qk + v);
    l.index_flops = 2 * static_cast<double>(by.index_heads) * static_cast<double>(by.index_width) / t;
    l.scan_flops = by.recurrent_flops() / t;
    l.chunk_flops = by.chunk_flops() / t;
    l.state_bytes = by.state_bytes() / t;
    l.up_flops = 2 * active * (matrices - 1) * h * f;
    if (by.attends()) l.kv_elements = kv_heads * (qk + v);
    l.blocks = (by.span.how != mixing::none ? 1 : 0) + (kind.has_mlp() ? 1 : 0);
    l.tensor = t;
    l.hidden = h;
    l.heads = by.attends() ? heads : 0;
    l.query = by.attends() ? heads * qk : static_cast<double>(by.in) / t;
    l.output = by.attends() ? heads * v : static_cast<double>(by.out) / t;
    l.feed_forward = active * f;
    l.gate = m.gated ? l.feed_forward : 0;
    return l;
  }
};

/// Parameters of the whole model: layers, embedding and head (once when tied), no norms, biases or convolutions.
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

}  // namespace slimpack::costs

#endif
