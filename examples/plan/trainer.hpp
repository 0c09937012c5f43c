#ifndef SLIMPACK_EXAMPLES_PLAN_TRAINER_HPP
#define SLIMPACK_EXAMPLES_PLAN_TRAINER_HPP

#include <slimpack/costs/memory/saved_tensors.hpp>
#include <slimpack/solvers/exchange_set.hpp>

#include <iterator>
#include <string>
#include <vector>

namespace cli {

/// What a trainer can run, beyond packs on stages with all ranks of tensor, context and expert parallelism.
struct trainer {
  slimpack::exchange_set exchanges{slimpack::exchange_set::all()};  ///< by which its replicas share rows
  bool cuts{true};                                                  ///< sequences into slices, by other packs backward
  bool chunks{true};                                                ///< virtual stages
  bool weights_apart{true};                                         ///< weight gradients
  bool spread_vocabulary{true};
  bool unequal_words{true};    ///< of a spread vocabulary, on its stages
  bool lends_attention{true};  ///< between stages
  std::vector<slimpack::costs::recompute> recompute{std::begin(slimpack::costs::all_recompute),
                                                    std::end(slimpack::costs::all_recompute)};

  [[nodiscard]] bool recomputes(slimpack::costs::recompute what) const;
};

/// What --trainer says: packflow, plain, megatron, or capabilities with commas between them. Throws bad_usage.
///
/// megatron is what the main branch of Megatron-LM runs by its arguments: packs of whole sequences, the same in both
/// passes (micro-batches of packed sequences), under 1F1B; --num-layers-per-virtual-pipeline-stage (chunks); layers by
/// --pipeline-model-parallel-layout; --recompute-granularity selective and full, but no gated products of dense layers
/// alone, which light has. It has neither a vocabulary that all stages share, nor weight gradients that run apart, nor
/// sequences that replicas share: its context-parallel groups of changing size refuse pipelines.
trainer trainer_named(const std::string& text);

/// The words that --trainer takes.
const std::vector<std::string>& trainer_words();

}  // namespace cli

#endif
