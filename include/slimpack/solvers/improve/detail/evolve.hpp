#ifndef SLIMPACK_SOLVERS_IMPROVE_DETAIL_EVOLVE_HPP
#define SLIMPACK_SOLVERS_IMPROVE_DETAIL_EVOLVE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/solvers/detail/search_tuning.hpp>
#include <slimpack/solvers/improve/detail/splitmix.hpp>
#include <slimpack/solvers/pack/partition_rule.hpp>
#include <slimpack/solvers/size_ratios.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace slimpack::detail {

/// An evolution strategy of one parent and one child, until `spent()`: a child differs in up to three of the parent's
/// ratios, by factors that grow with success and shrink with failure; what has helped is done again.
/// A child's crowding is now and then another. `score(child)` is the child's makespan, or why it has no plan;
/// `of_parent` the parent's. `step` is the first change.
/// Source    (1+1)-ES with step size control (I. Rechenberg, 1973), on random subspaces; derived
template <class Score, class Spent>
void evolve(partition_rule parent, seconds of_parent, double step, splitmix& random, const Score& score,
            const Spent& spent, const search_tuning& tuning = {}, bool common_cuts = false) {
  constexpr std::size_t ratios = 2 * solvers::size_ratios::all().size();
  // No exp: libraries choose among implementations by processor, and plans must not.
  const auto factor = [](double up) { return up < 0 ? 1 / (1 - up) : 1 + up; };
  std::array<double, ratios + 1> change{};  // of ratios, what factor takes; of the front, a difference
  for (bool better = false; !spent();) {
    partition_rule child = parent;
    if (!better) {
      change = {};
      for (int some = 1 + static_cast<int>(tuning.changed_ratios * random.uniform()); some > 0; --some) {
        const auto which = static_cast<std::size_t>(random.uniform() * static_cast<double>(change.size()));
        change[which] = (2 * random.uniform() - 1) * step * (which == ratios ? double{tuning.front_change} : 1.0);
      }
      if (random.uniform() < tuning.crowding_chance)
        child.crowding = tuning.crowding_least + tuning.crowding_range * random.uniform();
      if (common_cuts && random.uniform() < tuning.alignment_chance)
        child.alignment = tuning.alignment_most * random.uniform();
    }
    std::size_t at = 0;
    for (const pass p : both_passes)
      for (double solvers::size_ratios::*ratio : solvers::size_ratios::all())
        child.sizes[p].*ratio *= factor(change[at++]);
    child.front = std::clamp(child.front + change[ratios], 0.0, 1.0);
    const bool again = better;
    const result<seconds> time = score(child);
    better = time && time.value() < of_parent;
    if (better) {
      parent = child;
      of_parent = time.value();
      step = std::min<double>(tuning.step_most, step * tuning.step_growth);
    } else if (!again) {
      step = std::max<double>(tuning.step_least, step * tuning.step_decay);
    }
  }
}

}  // namespace slimpack::detail

#endif
