#ifndef SLIMPACK_SHAPES_LAYER_TIMES_HPP
#define SLIMPACK_SHAPES_LAYER_TIMES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/shapes/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::shapes {

/// What a batch takes on a model, layer by layer, and besides: on the part that has the output layer, say.
struct layer_times {
  std::vector<seconds> layers{};  ///< of each, in order
  seconds first{};                ///< of the first part besides its layers
  seconds last{};                 ///< of the last part besides its layers
};

/// Those of a model on a layout, for all sequences of some batches, forward and backward or in the passes given.
/// cost_of   result<Cost>(const costs::model_shape&, const layout&), with Cost a cost model
/// Formula   with T(n) the least times of the batches on one stage of a model of n layers of a kind, a layer takes
///           T(2) - T(1), and the last part T(1) - (T(2) - T(1)) besides. Kinds are those of costs::layer_kind
/// Errors    those of cost_of            Complexity  two cost models for each kind, and O(sequences)
template <class CostOf>
result<layer_times> layer_times_of(const costs::model_shape& model, const layout& on,
                                   std::span<const std::vector<tokens>> batches, const CostOf& cost_of,
                                   std::span<const pass> passes = both_passes) {
  layout alone = on;
  alone.shape.stages = alone.shape.chunks = 1;
  alone.layers.clear();
  const auto time_of = [&](costs::layer_kind kind, int layers) -> result<seconds> {
    costs::model_shape variant = model;
    variant.layers = layers;
    variant.dense_layers = 0;
    variant.expert_layers.clear();
    variant.state_layers.assign(kind.state ? static_cast<std::size_t>(layers) : 0, true);
    if (!kind.moe) variant.experts = 0;
    const auto cost = cost_of(variant, alone);
    if (!cost) return cost.error();
    seconds sum{};
    for (const std::vector<tokens>& lengths : batches)
      for (std::uint32_t i = 0; i < lengths.size(); ++i)
        for (const pass p : passes) sum += least_time(cost.value(), {{i}, {0}, lengths[i]}, p, 0);
    return sum;
  };
  layer_times times;
  times.layers.resize(static_cast<std::size_t>(model.layers));
  for (const costs::layer_kind kind : {costs::layer_kind{}, {false, true}, {true, false}, {true, true}}) {
    const auto has = [&](int layer) { return model.kind(layer) == kind; };
    int first = 0;
    while (first < model.layers && !has(first)) ++first;
    if (first == model.layers) continue;  // there are none
    const result<seconds> one = time_of(kind, 1);
    if (!one) return one.error();
    const result<seconds> two = time_of(kind, 2);
    if (!two) return two.error();
    const seconds layer = two.value() - one.value();
    for (int i = 0; i < model.layers; ++i)
      if (has(i)) times.layers[static_cast<std::size_t>(i)] = layer;
    times.last = one.value() - layer;
  }
  return times;
}

}  // namespace slimpack::shapes

#endif
