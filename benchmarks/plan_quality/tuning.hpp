#ifndef SLIMPACK_BENCHMARKS_PLAN_QUALITY_TUNING_HPP
#define SLIMPACK_BENCHMARKS_PLAN_QUALITY_TUNING_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/shapes/layout.hpp>
#include <slimpack/shapes/ranking.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace slimpack::plan_quality {

/// A model on a number of H100s, and every layout that a trainer could launch there within 80 GB a GPU less 4 GiB.
struct cluster {
  costs::model_shape model;
  int gpus{};
  std::vector<shapes::layout> layouts;  ///< with 1, 2 and 4 virtual stages, layers as the cost model spreads them, the
                                        ///< vocabulary on the last stage or spread over all, experts over any ranks of
                                        ///< a stage

  [[nodiscard]] static cluster of(costs::model_shape model, int gpus);
  [[nodiscard]] result<costs::transformer> cost_on(const shapes::layout& on) const;

  /// slimpack's plan, by normal effort.
  [[nodiscard]] result<plan> planned(const shapes::layout& on, std::span<const tokens> lengths) const;

  /// The layouts, and each once more with layers spread so that its stages are as even as they can be for a batch.
  [[nodiscard]] std::vector<shapes::layout> layouts_for(std::span<const tokens> lengths) const;

  /// That of some layouts on which a planner's step is shortest; of a baseline that packs to a length, with the best
  /// length on each (slimpack/solvers/baselines/pack_lengths.hpp). Nothing where no layout has room.
  [[nodiscard]] std::optional<shapes::candidate> tuned(const std::string& planner,
                                                       std::span<const shapes::layout> among,
                                                       std::span<const tokens> lengths) const;

  /// What the fullest GPU lacks on the layout where it lacks least: for its weights and optimizer, and an even share of
  /// a sequence of that length.
  [[nodiscard]] std::string shortfall(tokens length) const;
};

[[nodiscard]] sequence longest_of(std::span<const tokens> lengths);

/// The least time, gradients not reduced, of a plan that cuts no sequence and shares none: the longest there and back.
[[nodiscard]] seconds uncut_floor(const costs::transformer& cost, const shape& on, std::span<const tokens> lengths);

/// dp/pp/tp/cp/vpp, over how many ranks experts are spread after an x, v where the vocabulary is spread, and what
/// backward computes again: nothing, a, s or f, attention, selectively or in full; e: layers are spread so that stages
/// are even.
[[nodiscard]] std::string text_of(const shapes::layout& on);

}  // namespace slimpack::plan_quality

#endif
