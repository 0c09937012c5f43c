#ifndef SLIMPACK_EXAMPLES_PLAN_TRAINER_HPP
#define SLIMPACK_EXAMPLES_PLAN_TRAINER_HPP

#include <slimpack/costs/memory/saved_tensors.hpp>
#include <slimpack/solvers/exchange_set.hpp>

#include <string>
#include <vector>

namespace cli {

/// What a trainer can run, beyond packs on stages with all ranks of tensor, context and expert parallelism.
struct trainer {
  slimpack::exchange_set exchanges{slimpack::exchange_set::all()};  ///< by which its replicas share rows
  bool chunks{true};                                                ///< virtual stages
  bool weights_apart{true};                                         ///< weight gradients
  bool spread_vocabulary{true};
  bool lends_attention{true};                                       ///< between stages
  std::vector<slimpack::costs::recompute> recompute{slimpack::costs::recompute::none, slimpack::costs::recompute::attention,
                                                    slimpack::costs::recompute::selective, slimpack::costs::recompute::full};

  [[nodiscard]] bool recomputes(slimpack::costs::recompute what) const;
};

/// What --trainer says: packflow, plain, or capabilities with commas between them. Throws bad_usage.
trainer trainer_named(const std::string& text);

/// The words that --trainer takes.
const std::vector<std::string>& trainer_words();

}  // namespace cli

#endif
