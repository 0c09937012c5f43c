#ifndef SLIMPACK_SHAPES_WITH_EVEN_STAGES_HPP
#define SLIMPACK_SHAPES_WITH_EVEN_STAGES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/costs/detail/layers_on_parts.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/shapes/even_stages.hpp>
#include <slimpack/shapes/layout.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::shapes {

/// Layouts, and after them each once more with as many layers on each stage as make the busiest least busy
/// (even_stages), where those are others than the cost model's.
/// cost_of   result<Cost>(const costs::model_shape&, const layout&), with Cost a cost model; a layout that it refuses
///           comes once
/// passes    that the stages are to be even in
/// Errors    none
/// Complexity layer_times_of for each tp, cp, ep, vocabulary and recompute, and even_stages for each layout
template <class CostOf>
[[nodiscard]] std::vector<layout> with_even_stages(const costs::model_shape& model, std::vector<layout> layouts,
                                                   std::span<const std::vector<tokens>> batches, const CostOf& cost_of,
                                                   std::span<const pass> passes = both_passes) {
  using frame = std::tuple<int, int, int, vocabulary, costs::recompute>;  // what the times of layers depend on
  std::map<frame, std::optional<layer_times>> known;  // none where the cost model refuses the layout
  const std::size_t given = layouts.size();
  for (std::size_t i = 0; i < given; ++i) {
    layout on = layouts[i];
    if (on.shape.stages == 1 || on.shape.parts() > model.layers) continue;
    const auto [at, is_new] =
        known.try_emplace({on.shape.tensor, on.shape.context, on.shape.expert, on.shape.vocabulary, on.recompute});
    if (is_new) {
      result<layer_times> found = layer_times_of(model, on, batches, cost_of, passes);
      if (found) at->second = std::move(found).value();
    }
    if (!at->second) continue;
    on.layers = even_stages(*at->second, on.shape);
    const result<std::vector<int>> plain = slimpack::detail::layers_on_parts(model, on.shape, {});
    if (plain && plain.value() != on.layers) layouts.push_back(std::move(on));
  }
  return layouts;
}

}  // namespace slimpack::shapes

#endif
