#ifndef SLIMPACK_COSTS_DETAIL_STEP_ENDS_HPP
#define SLIMPACK_COSTS_DETAIL_STEP_ENDS_HPP

#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/costs/detail/layers_on_parts.hpp>
#include <slimpack/costs/detail/step_traffic.hpp>
#include <slimpack/costs/detail/weight_buckets.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/traffic.hpp>
#include <slimpack/costs/reduction.hpp>
#include <slimpack/costs/stage_options.hpp>

#include <span>
#include <vector>

namespace slimpack::detail {

/// What comes after the work of a step, of the stage with the most weights, and what is reduced beside it.
struct step_ends {
  seconds after{};                                      ///< the reduction, where nothing hides it, and the optimizer
  std::vector<std::vector<gradient_bucket>> buckets{};  ///< of each part; empty: nothing is reduced beside the work

  /// `layers`: of each part, from layers_on_parts            Complexity  O(layers)
  [[nodiscard]] static step_ends of(const costs::model_shape& model, const shape& on, std::span<const int> layers,
                                    const stage_states& states, const costs::traffic& wires,
                                    const costs::stage_options& with) {
    const auto end_of = [&](double weights, double experts) {
      return step_times::of(weights, experts, on, wires, with);
    };
    const step_times heaviest = end_of(states.heaviest, states.heaviest_experts);
    if (with.reduction == costs::reduction::exposed || !on.has_copies()) return {heaviest.total(), {}};
    step_ends made{heaviest.optimizer, {}};
    for (const std::vector<weight_bucket>& part : weight_buckets(model, on, layers, with.routing)) {
      std::vector<gradient_bucket>& own = made.buckets.emplace_back();
      for (const weight_bucket& b : part) {
        const step_times end = end_of(b.parameters, b.experts);
        own.push_back({b.at, end.scatter, end.gather});
      }
    }
    return made;
  }
};

}  // namespace slimpack::detail

#endif
