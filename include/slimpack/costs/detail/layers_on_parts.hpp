#ifndef SLIMPACK_COSTS_DETAIL_LAYERS_ON_PARTS_HPP
#define SLIMPACK_COSTS_DETAIL_LAYERS_ON_PARTS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/costs/memory/memory.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/model_shape.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// How many layers each part has: `wanted`, or, where that is empty, even, and what is left over to the inner parts
/// before the first and the last, which have the embedding and the logits besides.
/// Errors    invalid_input: a degree below 1, more parts than layers, tensor ranks that do not divide the heads, or a
///           list of layers that does not add up
[[nodiscard]] inline result<std::vector<int>> layers_on_parts(const costs::model_shape& model, const shape& on,
                                                              std::vector<int> wanted) {
  if (std::min({on.stages, on.replicas, on.tensor, on.context, on.chunks}) < 1)
    return error{errc::invalid_input, "every degree of the shape must be at least 1"};
  const int parts = on.parts();
  if (parts > model.layers)
    return error{errc::invalid_input, std::to_string(on.stages) + " stages x " + std::to_string(on.chunks) +
                                          " chunks exceed the " + std::to_string(model.layers) + " layers of " +
                                          model.name};
  if (model.heads % on.tensor != 0)
    return error{errc::invalid_input, "tensor parallelism of " + std::to_string(on.tensor) + " does not divide the " +
                                          std::to_string(model.heads) + " query heads of " + model.name};
  if (wanted.empty()) {
    wanted.assign(static_cast<std::size_t>(parts), model.layers / parts);
    for (int i = 0; i < model.layers % parts; ++i) ++wanted[static_cast<std::size_t>(i < parts - 2 ? i + 1 : 0)];
  }
  if (wanted.size() != static_cast<std::size_t>(parts) ||
      std::accumulate(wanted.begin(), wanted.end(), 0) != model.layers ||
      *std::min_element(wanted.begin(), wanted.end()) < 1)
    return error{errc::invalid_input, "layers per part must be " + std::to_string(parts) +
                                          " counts of at least 1 that add up to " + std::to_string(model.layers)};
  return wanted;
}

/// What the GPUs of each stage hold, and the most weights that one of them has.
struct stage_states {
  std::vector<memory_rates> memory{};
  std::vector<double> pair_bytes{};  ///< of dense attention, see memory::kept
  double heaviest{};                 ///< parameters

  /// `layers`: of each part, from layers_on_parts.
  [[nodiscard]] static stage_states of(const costs::model_shape& model, const shape& on, std::span<const int> layers,
                                       const costs::memory& rule) {
    std::vector<std::vector<costs::layer>> on_stage(static_cast<std::size_t>(on.stages));
    int next = 0;
    for (std::size_t part = 0; part < layers.size(); ++part)
      for (int i = 0; i < layers[part]; ++i, ++next)
        on_stage[part % on_stage.size()].push_back(costs::layer::of(model, model.is_moe(next), on.tensor));
    stage_states made;
    for (int r = 0; r < on.stages; ++r) {
      const bool last = r == on.stages - 1;
      // A tied head is a copy on the last stage, unless that is the first stage too.
      const int embeddings = on.stages == 1 ? (model.tied ? 1 : 2) : (r == 0 || last ? 1 : 0);
      const std::vector<costs::layer>& own = on_stage[static_cast<std::size_t>(r)];
      made.memory.push_back(rule.of(model, on, own, embeddings, last));
      made.pair_bytes.push_back(rule.pair_bytes(on, own));
      double weights = embeddings * static_cast<double>(model.vocabulary * model.hidden) / on.tensor;
      for (const costs::layer& l : own) weights += l.weights;
      made.heaviest = std::max(made.heaviest, weights);
    }
    return made;
  }
};

}  // namespace slimpack::detail

#endif
