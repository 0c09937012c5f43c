#ifndef SLIMPACK_PLANNER_HPP
#define SLIMPACK_PLANNER_HPP

#include <slimpack/basic_planner.hpp>
#ifdef __cpp_exceptions
#include <slimpack/simulators/boost_graph.hpp>
#else
#include <slimpack/simulators/sweep.hpp>
#endif

#include <utility>

namespace slimpack {

namespace detail {
#ifdef __cpp_exceptions
using default_simulator = simulators::boost_graph;
#else
using default_simulator = simulators::sweep;  // Boost.Graph throws where it finds a cycle
#endif
}  // namespace detail

/// basic_planner with a default simulator: a policy that is not given is the one to begin with.
///
///   slimpack::planner plan_batch{{.stages = 8}};
///   slimpack::plan plan = plan_batch(lengths).value();
///
/// It includes Boost.Graph, for simulators::boost_graph. Where compile time matters more, basic_planner.hpp with
/// simulators/sweep.hpp makes the same plans; so does this one where exceptions are switched off, with that simulator.
template <slicer Slicer = slicers::equal_cost, cost_model Cost = costs::quadratic, class Solver = solvers::two_phase,
          schedule_for<workload> Schedule = schedules::list, simulator_for Simulator = detail::default_simulator>
requires solver_for<Solver, Slicer, Cost, Schedule>
class planner : public basic_planner<Slicer, Cost, Solver, Schedule, Simulator> {
 public:
  explicit planner(shape on, Slicer slicer = {}, Cost cost = {}, Solver solver = {}, Schedule schedule = {},
                   Simulator simulator = {})
      : basic_planner<Slicer, Cost, Solver, Schedule, Simulator>(
            on, std::move(slicer), std::move(cost), std::move(solver), std::move(schedule), std::move(simulator)) {}
};

}  // namespace slimpack

#endif
