#ifndef SLIMPACK_COSTS_MODEL_TRAINING_FLOPS_HPP
#define SLIMPACK_COSTS_MODEL_TRAINING_FLOPS_HPP

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/model_shape.hpp>

namespace slimpack::costs {

/// Operations that training on a batch needs, forward and backward, nothing computed again: the numerator of
/// model flops utilisation (MFU), whose denominator is the peak of all GPUs over the time of the step.
/// Formula   6 N a token and 3 (pair flops) a query and key that it attends to. N: the weights that a token is
///           multiplied with, logits among them, the embedding and experts that it does not go to left out. Pairs:
///           those of causal attention, n (2 b + n + 1) / 2 of a sequence with b tokens before it, so that no training
///           has more than its GPUs can do. What samples share counts once
/// Source    PaLM (arXiv:2204.02311), appendix B. Some publications count the whole square of attention, whose MFU of
///           long sequences is larger by up to twice
/// Units     floating-point operations            Errors    none            Complexity  O(layers + sequences)
[[nodiscard]] inline double training_flops(const model_shape& m, const batch_view& batch) {
  double linear = 2 * static_cast<double>(m.hidden * m.vocabulary), pair = 0;
  for (int i = 0; i < m.layers; ++i) {
    const layer l = layer::of(m, m.kind(i), 1);
    linear += l.linear_flops, pair += l.pair_flops;
  }
  double all = 0;
  for (const sequence& s : batch.sequences())
    all += static_cast<double>(s.length.value) * linear + s.whole().pairs() * pair;
  return 3 * all;
}

}  // namespace slimpack::costs

#endif
