#ifndef SLIMPACK_PLANNER_FOR_HPP
#define SLIMPACK_PLANNER_FOR_HPP

#include <slimpack/concepts.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/executors/sharing.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/hooks.hpp>
#include <slimpack/solvers/refined.hpp>
#include <slimpack/solvers/two_phase.hpp>

#include <type_traits>
#include <utility>

namespace slimpack {

namespace detail {

template <class Solver>
inline constexpr bool is_refined = false;
template <class Solver>
inline constexpr bool is_refined<solvers::refined<Solver>> = true;

/// The solver for a compute, with common cuts where the compute's backward takes whole forward pieces.
template <class Compute, class Solver>
using suited_solver = std::conditional_t<cuts_of<Compute>() == backward_cuts::any || is_refined<Solver>, Solver,
                                         solvers::refined<Solver>>;

/// Weight gradients apart where the compute can run them so.
template <class Compute>
using suited_schedule = std::conditional_t<splits_weight_gradients<Compute>, schedules::zero_bubble, schedules::list>;

template <class Solver>
concept shares_as_told = requires(Solver& s) {
  s.share_by(exchange_set::none());
};

/// A solver whose plans a compute can run, as far as the solver has a say in it.
template <class Compute, class Solver>
concept suits_sharing = exchanges_of<Compute>()
.keep || shares_as_told<Solver>;

}  // namespace detail

/// A planner whose plans a stage compute can run: what the compute's type says decides over what its plans may contain.
///
///   slimpack::plan plan = slimpack::planner_for<my_stage>({.stages = 8})(lengths).value();
///   auto plan_batch =
///       slimpack::planner_for<my_stage>(shape, {}, my_cost, {.effort = slimpack::solvers::search_budget::high()});
///
///   the compute says                          its plans
///   shares_rows = true, or an exchange_set    let replicas share a sequence, by keep or by those; otherwise none
///   cuts = backward_cuts::any                 cut backward anywhere; otherwise solvers::refined cuts both passes at
///                                             the same places, and prices each piece as a call
///   splits_weight_gradients = true            may run weight gradients apart, by schedules::zero_bubble; otherwise
///                                             schedules::list runs them with those of inputs
///   shares_prefixes = true                    may be of samples that share beginnings; otherwise such a batch is
///                                             refused: plan it flat, each sample as a sequence of its own
///
/// Policies of your own are taken as planner takes them: a solver is told how to share, or put into solvers::refined,
/// where the compute needs it; a schedule must be one that the compute can run (computes_for).
/// Law       executors::packflow runs every plan with such a compute, if shape.chunks is what its chunks() says, and
///           shape.vocabulary is spread where its vocabulary_rows() say so, and nowhere else
/// Errors    none: those of the planner come when it plans
template <stage_compute Compute, slicer Slicer = slicers::equal_cost, cost_model Cost = costs::quadratic,
          class Solver = solvers::two_phase, schedule_for<workload> Schedule = detail::suited_schedule<Compute>,
          simulator_for Simulator = detail::default_simulator>
requires computes_for<Compute, Schedule>
[[nodiscard]] auto planner_for(shape on, Slicer slicer = {}, Cost cost = {}, Solver solver = {}, Schedule schedule = {},
                               Simulator simulator = {}) {
  constexpr bool suits = detail::suits_sharing<Compute, Solver>;  // compilers say less of a constant than of a concept
  static_assert(suits,
                "this stage compute shares no rows, or keeps none, so its solver offers void share_by(exchange_set): "
                "from then on replicas share sequences by these exchanges alone (solvers/hooks.hpp)");
  if constexpr (suits) {
    using suited = detail::suited_solver<Compute, Solver>;
    suited chosen{std::move(solver)};
    chosen = sharing_by(std::move(chosen), detail::exchanges_of<Compute>());
    if constexpr (!detail::shares_prefixes<Compute>) chosen = planning_flat(std::move(chosen));
    return planner<Slicer, Cost, suited, Schedule, Simulator>(on, std::move(slicer), std::move(cost), std::move(chosen),
                                                              std::move(schedule), std::move(simulator));
  }
}

}  // namespace slimpack

#endif
