#ifndef SLIMPACK_COSTS_MODEL_TRAINING_FLOPS_HPP
#define SLIMPACK_COSTS_MODEL_TRAINING_FLOPS_HPP

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/mixer.hpp>
#include <slimpack/costs/model/model_shape.hpp>

#include <utility>
#include <vector>

namespace slimpack::costs {

/// Operations that training on a batch needs, forward and backward, nothing computed again: the numerator of
/// model flops utilisation (MFU), whose denominator is the peak of all GPUs over the time of the step.
/// Formula   6 N a token, 3 (pair flops) a query and key that it attends to, 3 (scan flops) a token of a state's
///           recurrence, and 3 (index flops) a pair of full attention where an indexer chooses keys. N: the weights
///           that a token is multiplied with, logits among them, the embedding and experts that it does not go to left
///           out. Pairs: those of attention_span, of full attention n (2 b + n + 1) / 2 of a sequence with b tokens
///           before it, so that no training has more than its GPUs can do. What samples share counts once
/// Source    PaLM (arXiv:2204.02311), appendix B. Some publications count the whole square of attention, whose MFU of
///           long sequences is larger by up to twice
/// Units     floating-point operations            Errors    none            Complexity  O(layers + sequences)
[[nodiscard]] inline double training_flops(const model_shape& m, const batch_view& batch) {
  const double logits = 2 * static_cast<double>(m.hidden * m.vocabulary);
  double linear = logits * (1 + m.further), full = 0;
  std::vector<std::pair<attention_span, double>> others;  // with the flops of a pair
  for (int i = 0; i < m.layers; ++i) {
    const layer l = layer::of(m, m.kind(i), 1);
    linear += l.linear_flops + l.scan_flops, full += l.index_flops;
    if (l.span.how == mixing::full)
      full += l.pair_flops;
    else if (l.pair_flops > 0)
      others.emplace_back(l.span, l.pair_flops);
  }
  double all = 0;
  for (const sequence& s : batch.sequences()) {
    all += static_cast<double>(s.length.value) * linear + s.whole().pairs() * full;
    for (const auto& [span, pair] : others) all += span.pairs(s.whole()) * pair;
  }
  return 3 * all;
}

}  // namespace slimpack::costs

#endif
