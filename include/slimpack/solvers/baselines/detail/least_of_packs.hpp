#ifndef SLIMPACK_SOLVERS_BASELINES_DETAIL_LEAST_OF_PACKS_HPP
#define SLIMPACK_SOLVERS_BASELINES_DETAIL_LEAST_OF_PACKS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

namespace slimpack::detail {

/// What each stage computes of all packs, both passes.
/// Complexity O(packs * parts)
[[nodiscard]] inline std::vector<seconds> busy_stages(const workload& work) {
  const auto parts = static_cast<std::size_t>(work.shape.parts());
  std::vector<seconds> busy(static_cast<std::size_t>(work.shape.stages));
  for (const pass p : both_passes)
    for (std::size_t cell = 0; cell < work.times.calls[p].size(); ++cell)
      busy[cell % parts % busy.size()] += work.times.calls[p][cell];
  return busy;
}

/// The least time that a replica's packs take in any order: each stage runs all of them, the first one once it has
/// passed the stages before, and the last one has to pass these on its way back.
/// Formula   the largest over stages r of (forward of the first pack on parts 0 .. r - 1) + (all passes of all packs on
///           the chunks of r) + (backward of the last pack on parts 0 .. r - 1); the last term counts where weight
///           gradients run with those of inputs. Derived: packs of a pass run in order (law 1 of schedules), each part
///           after the one before
/// Complexity O(packs * parts)
[[nodiscard]] inline seconds least_time_of(const workload& work) {
  if (work.times.packs(pass::forward) == 0 || work.times.packs(pass::backward) == 0) return {};
  const auto parts = static_cast<std::size_t>(work.shape.parts());
  const std::vector<seconds> busy = busy_stages(work);
  const std::size_t last = (work.times.packs(pass::backward) - 1) * parts;
  seconds least{}, around{};
  for (std::size_t r = 0; r < busy.size(); ++r) {
    least = std::max(least, busy[r] + around);
    around += work.times.calls[pass::forward][r];
    if (work.split.inputs.empty()) around += work.times.calls[pass::backward][last + r];
  }
  return least;
}

/// What each stage computes at least beside its layers before tokens run backward: its part of the output layer, where
/// all stages have one.
[[nodiscard]] inline seconds least_output_of(const workload& work) {
  const std::vector<seconds>& output = work.times.calls[instruction_kind::output];
  if (output.empty()) return {};
  std::vector<seconds> by_stage(static_cast<std::size_t>(work.shape.stages));
  for (std::size_t i = 0; i < output.size(); ++i) by_stage[i % by_stage.size()] += output[i];
  return *std::min_element(by_stage.begin(), by_stage.end());
}

/// What the step of a baseline takes at least, in whatever order its packs run: they are cheap to make and to price. 0
/// of a solver whose packs are not known before it searches.
/// Formula   the largest over replicas of least_time_of + least_output_of; where it ties stages, of the mean of
///           busy_stages instead. Derived: what one does for another stays work of the pipeline, so that some stage has
///           the mean at least
/// Errors    those of the solver's packs: a sequence longer than the pack, a row too short for its slices
template <class Recipe, class Cost>
[[nodiscard]] result<seconds> least_of_packs(const Recipe& recipe, std::span<const tokens> lengths, const shape& on,
                                             const Cost& cost, const std::vector<memory_rates>& rates) {
  seconds least{};
  using replica_packs = result<std::vector<replica_solution>>;
  if constexpr (requires {
                  { recipe.solver.packed(problem{lengths, on}, recipe.slicer, cost) } -> std::same_as<replica_packs>;
                }) {
    const replica_packs packed = recipe.solver.packed(problem{lengths, on}, recipe.slicer, cost);
    if (!packed) return packed.error();
    bool ties = false;
    if constexpr (requires { recipe.solver.ties_stages(); }) ties = recipe.solver.ties_stages();
    for (const replica_solution& r : packed.value()) {
      const workload work = price(r.partition, cost, on, rates);
      if (!ties) {
        least = std::max(least, least_time_of(work) + least_output_of(work));
        continue;
      }
      seconds all{};
      for (const seconds busy : busy_stages(work)) all += busy;
      least = std::max(least, all * (1.0 / on.stages));
    }
  }
  return least;
}

}  // namespace slimpack::detail

#endif
