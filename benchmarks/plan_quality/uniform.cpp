#include "uniform.hpp"

#include <slimpack/planner.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/solvers/two_phase_with.hpp>

#include <ctime>
#include <utility>

namespace slimpack::plan_quality {

result<plan> planned(const shape& on, const costs::quadratic& cost, std::span<const tokens> lengths,
                     const solvers::search_budget& effort, weight_gradients weights) {
  const solvers::two_phase solver{.effort = effort};
  const std::clock_t begin = std::clock();
  result<plan> made = weights == weight_gradients::with_inputs
                          ? planner{on, slicers::equal_cost{}, cost, solver}(lengths)
                          : planner{on, slicers::equal_cost{}, cost, solver, schedules::zero_bubble{}}(lengths);
  if (!made) return made;
  made.value().planning_time = {static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC};
  return made;
}

result<plan> planned_by_estimates(const shape& on, const costs::quadratic& cost, std::span<const tokens> lengths,
                                  const solvers::search_budget& effort) {
  const solvers::two_phase_estimated solver{{.effort = effort}};
  const std::clock_t begin = std::clock();
  result<plan> made = planner{on, slicers::equal_cost{}, cost, solver}(lengths);
  if (!made) return made;
  made.value().planning_time = {static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC};
  return made;
}

result<rank_plan> planned_for_rank(const shape& on, const costs::quadratic& cost, std::span<const tokens> lengths,
                                   const solvers::search_budget& effort, std::uint32_t replica) {
  const solvers::two_phase_estimated solver{{.effort = effort, .threads = 1}};
  const std::clock_t begin = std::clock();
  result<rank_plan> made = planner{on, slicers::equal_cost{}, cost, solver}.of_replica(lengths, replica);
  if (!made) return made;
  made.value().part.planning_time = {static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC};
  return made;
}

double useful_share(const plan& p, const costs::quadratic& cost) {
  double work = 0;
  for (const tokens length : p.lengths) {
    const auto n = static_cast<double>(length.value);
    work +=
        (1 + cost.backward_linear) * cost.linear * n + (1 + cost.backward_attention) * cost.attention * n * (n + 1) / 2;
  }
  return work / (p.step_time.value * p.shape.replicas);  // each stage does all of it, in each replica its part
}

}  // namespace slimpack::plan_quality
