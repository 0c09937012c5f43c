#ifndef SLIMPACK_TESTS_EXECUTORS_PLANNED_HPP
#define SLIMPACK_TESTS_EXECUTORS_PLANNED_HPP

#include <slimpack/basic_planner.hpp>
#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/forward.hpp>

namespace slimpack::tests {

/// A batch planned by a combination of one's own; costs keep packs small, so that there are many.
template <class Solver, class Slicer, class Schedule>
result<plan> planned(const shape& on, const batch_view& batch, Slicer slicer, Solver solver, Schedule schedule) {
  const costs::quadratic cost{.attention = 1e-8, .per_pack = {2e-5}, .hop = {1e-5}};
  return basic_planner{on, slicer, cost, solver, schedule, simulators::sweep{}}(batch);
}

/// A batch planned to run forward alone, by a search of a few candidates.
inline result<plan> planned_forward(const shape& on, const batch_view& batch) {
  const costs::quadratic cost{.attention = 1e-8, .per_pack = {2e-5}, .hop = {1e-5}};
  const solvers::two_phase search{.options = {.evaluation_growth = 2}};
  return basic_planner{on, slicers::equal_cost{}, cost, search, schedules::list{}, simulators::sweep{}}.plan_forward(
      batch);
}

}  // namespace slimpack::tests

#endif
