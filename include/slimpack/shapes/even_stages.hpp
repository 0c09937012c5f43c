#ifndef SLIMPACK_SHAPES_EVEN_STAGES_HPP
#define SLIMPACK_SHAPES_EVEN_STAGES_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/shapes/layout.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
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
  alone.shape.words.clear();
  alone.layers.clear();
  const auto time_of = [&](costs::layer_kind kind, int layers) -> result<seconds> {
    costs::model_shape variant = model;
    variant.layers = layers;
    variant.dense_layers = 0;
    variant.expert_layers.clear();
    const auto count = static_cast<std::size_t>(layers);
    if (!model.mixer_of.empty()) variant.mixer_of.assign(count, kind.mixer);
    variant.mlp_widths.assign(kind.intermediate < 0 ? 0 : count, kind.intermediate);
    variant.further = kind.further ? layers : 0;
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
  std::set<costs::layer_kind> kinds;
  for (int i = 0; i < model.layers; ++i) kinds.insert(model.kind(i));
  for (const costs::layer_kind kind : kinds) {
    const auto has = [&](int layer) { return model.kind(layer) == kind; };
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

namespace detail {

/// How busy stages are with so many layers on each part: less is better.
struct stage_load {
  double most{};     // of a stage
  double squares{};  // of all stages: of two that are as busy at most, the more even one
  double parts{};    // the same of all parts
  friend constexpr auto operator<=>(const stage_load&, const stage_load&) = default;
};

[[nodiscard]] inline stage_load load_of(const layer_times& times, std::span<const int> layers, const shape& on) {
  std::vector<double> stage(static_cast<std::size_t>(on.stages), 0);
  stage_load load;
  std::size_t next = 0;
  for (std::size_t part = 0; part < layers.size(); ++part) {
    double own = (part == 0 ? times.first.value : 0) + (part + 1 == layers.size() ? times.last.value : 0);
    for (int i = 0; i < layers[part]; ++i) own += times.layers[next++].value;
    stage[part % stage.size()] += own;
    load.parts += own * own;
  }
  for (const double s : stage) load.most = std::max(load.most, s), load.squares += s * s;
  return load;
}

/// The least layers of a part: none where it has an end of the model that takes time.
[[nodiscard]] inline int least_layers(const layer_times& times, const shape& on, std::size_t part) {
  const bool is_last = part + 1 == static_cast<std::size_t>(on.parts());
  const bool works = (part == 0 && times.first > seconds{}) || (is_last && times.last > seconds{});
  return works && on.may_be_empty(static_cast<int>(part)) ? 0 : 1;
}

/// The best division of a chain of layers into stages, one part each. By dynamic programming, exactly.
/// Complexity O(stages * layers^2)
[[nodiscard]] inline std::vector<int> divided(const layer_times& times, const shape& on) {
  const std::size_t layers = times.layers.size();
  const auto parts = static_cast<std::size_t>(on.stages);
  std::vector<std::size_t> least{0};  // layers of the parts before
  for (std::size_t part = 0; part < parts; ++part)
    least.push_back(least.back() + static_cast<std::size_t>(least_layers(times, on, part)));
  std::vector<double> before(layers + 1, 0);
  for (std::size_t i = 0; i < layers; ++i) before[i + 1] = before[i] + times.layers[i].value;
  const auto busy = [&](std::size_t part, std::size_t from, std::size_t to) {
    return before[to] - before[from] + (part == 0 ? times.first.value : 0) + (part + 1 == parts ? times.last.value : 0);
  };
  constexpr stage_load none{std::numeric_limits<double>::infinity(), 0, 0};
  // The best of the first parts that have the first layers; first by how busy the busiest is, then by squares under
  // that.
  std::vector<std::size_t> cut((parts + 1) * (layers + 1), 0);
  const auto best_under = [&](double cap) {
    std::vector<stage_load> best(layers + 1, none);
    best[0] = {};
    for (std::size_t part = 0; part < parts; ++part) {
      std::vector<stage_load> next(layers + 1, none);
      for (std::size_t to = least[part + 1]; to + (least[parts] - least[part + 1]) <= layers; ++to)
        for (std::size_t from = least[part]; from + (least[part + 1] - least[part]) <= to; ++from) {
          const double own = busy(part, from, to);
          if (best[from] == none || own > cap) continue;
          stage_load with{std::max(best[from].most, own), best[from].squares + own * own, 0};
          if (cap < none.most) with.most = 0;
          if (!(with < next[to])) continue;
          next[to] = with;
          cut[(part + 1) * (layers + 1) + to] = from;
        }
      best = std::move(next);
    }
    return best[layers];
  };
  best_under(best_under(none.most).most);
  std::vector<int> counts(parts);
  for (std::size_t part = parts, to = layers; part-- > 0;) {
    const std::size_t from = cut[(part + 1) * (layers + 1) + to];
    counts[part] = static_cast<int>(to - from);
    to = from;
  }
  return counts;
}

}  // namespace detail

/// How many layers each part has so that the busiest stage has least to do. Parts have their layers in the model's
/// order: part c * stages + r is chunk c of stage r.
/// Law       without chunks no other division has a less busy busiest stage; nor with chunks where all layers take the
///           same
/// Formula   without chunks dynamic programming; with chunks, from an even division, that layer which moves from a part
///           to another one and helps most, until none does: the busiest stage first, then all stages, then all parts
/// Shapes    result: one count per part, each at least 1; or 0 where the part has an end of the model that takes time
/// Requires  at least as many layers as parts
/// Complexity O(stages layers^2) without chunks; with, O(parts^2 layers) for each layer that moves
[[nodiscard]] inline std::vector<int> even_stages(const layer_times& times, const shape& on) {
  const auto parts = static_cast<std::size_t>(on.parts());
  SLIMPACK_ASSERT(on.stages >= 1 && on.chunks >= 1 && times.layers.size() >= parts, "each part has a layer");
  if (on.chunks == 1) return detail::divided(times, on);
  std::vector<int> counts(parts);
  for (std::size_t part = 0; part < parts; ++part)
    counts[part] = static_cast<int>((part + 1) * times.layers.size() / parts - part * times.layers.size() / parts);
  for (detail::stage_load now = detail::load_of(times, counts, on);;) {
    detail::stage_load best = now;
    std::pair<std::size_t, std::size_t> move{};
    for (std::size_t from = 0; from < parts; ++from)
      for (std::size_t to = 0; to < parts && counts[from] > detail::least_layers(times, on, from); ++to) {
        if (from == to) continue;
        --counts[from], ++counts[to];
        if (const detail::stage_load with = detail::load_of(times, counts, on); with < best)
          best = with, move = {from, to};
        ++counts[from], --counts[to];
      }
    if (!(best < now)) return counts;
    --counts[move.first], ++counts[move.second];
    now = best;
  }
}

}  // namespace slimpack::shapes

#endif
