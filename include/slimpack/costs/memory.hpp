#ifndef SLIMPACK_COSTS_MEMORY_HPP
#define SLIMPACK_COSTS_MEMORY_HPP

#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/costs/layer.hpp>

#include <algorithm>
#include <span>

namespace slimpack::costs {

/// Which activations backward computes again instead of keeping.
enum class recompute : unsigned char {
  none,
  selective,  ///< norm outputs and the MLP's gate, up and product: cheap to repeat, most of the bytes
  full,       ///< all but each layer's input
};

/// What one GPU of a stage holds, in bytes.
/// Source    weights and gradients 6 B a parameter (bf16 + fp32 gradient), optimizer 12 B (fp32 copy, two moments);
///           activations as costs::layer counts them; logits 4 B (fp32) of the running pack: the loss gradient is taken
///           while they are there, since the normaliser is known before the first forward (design rule 9); dK and dV
///           in bf16. Selective recompute is derived
struct memory {
  bool distributed_optimizer{true};  ///< optimizer states sharded over replicas and context ranks
  costs::recompute recompute{costs::recompute::none};

  /// `layers`: those of the stage; `embeddings`: vocabulary matrices on it (0, 1 or 2); `has_head`: it computes logits.
  [[nodiscard]] memory_rates of(const model_shape& m, const shape& on, std::span<const layer> layers, int embeddings,
                                bool has_head) const {
    const double t = on.tensor;
    const double c = on.context;
    const double vocabulary = static_cast<double>(m.vocabulary) / t;
    const auto h = static_cast<double>(m.hidden);
    double weights = embeddings * vocabulary * h;
    memory_rates rates{.fixed = 0, .live_token = 0};
    double live_layer = 0;  // of one layer, back while its backward runs
    for (const layer& l : layers) {
      weights += l.weights;
      const double dropped = recompute == recompute::none ? 0
                             : recompute == recompute::selective ? l.norm_bytes + l.mlp_bytes
                                                                 : l.activation_bytes - 2 * h / t;
      rates.live_token += (l.activation_bytes - dropped) / c;
      rates.gradient_token += 2 * l.kv_elements / c;
      live_layer = std::max(live_layer, recompute == recompute::full ? l.activation_bytes : dropped);
    }
    const double optimizer = 12 / (distributed_optimizer ? on.replicas * c : 1.0);
    rates.fixed = weights * (6 + optimizer);
    rates.backward_token = live_layer / c;
    if (has_head) {
      rates.live_token += 2 * h / (t * c);  // the last norm's input
      rates.forward_token += 4 * vocabulary / c;
      rates.backward_token += 4 * vocabulary / c;
    }
    return rates;
  }
};

}  // namespace slimpack::costs

#endif
