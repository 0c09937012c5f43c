#ifndef SLIMPACK_BASIC_PLANNER_HPP
#define SLIMPACK_BASIC_PLANNER_HPP

#include <slimpack/concepts/planning.hpp>
#include <slimpack/core/forest/uncut.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/pricing/detail/cost_answers.hpp>
#include <slimpack/pricing/detail/searched_times.hpp>
#include <slimpack/pricing/detail/time_faults.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/assembly/detail/checked_slicer.hpp>
#include <slimpack/solvers/assembly/detail/checks.hpp>
#include <slimpack/solvers/assembly/detail/plan_assembly.hpp>
#include <slimpack/solvers/hooks.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/two_phase.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

namespace slimpack {

namespace solvers {
struct forward_search;  // solvers/forward.hpp
}

namespace detail {
struct no_simulator {};  // who leaves the simulator out of basic_planner is told so by simulator_for
}  // namespace detail

/// Plans a batch: slices and packs by Slicer and Solver, orders by Schedule, times by Cost; then checks the result,
/// runs it in Simulator and proves how close to the best possible it is. It has no default simulator, and so needs no
/// Boost.Graph; planner.hpp has one.
///
///   slimpack::basic_planner plan_batch{{.stages = 8}, {}, {}, {}, {}, slimpack::simulators::sweep{}};
///   slimpack::plan plan = plan_batch(lengths).value();
///
/// Trust     A solver's answer is taken for its packs and its order alone. They are checked, priced and simulated here
///           once more, although a search has done so before: whatever solver it was, the figures of a plan are the
///           cost model's and the simulator's. That takes as long as one candidate of a search.
/// Law       equal inputs give equal plans, planning_time apart; every plan satisfies testing/plan_laws.hpp
/// Threads   those that the solver has (solvers/hooks.hpp) also price and simulate replicas, so that slicer, cost
///           model, schedule and simulator are called from several at once, as const objects
/// Errors    invalid_input: an empty batch, a length or quantum outside 1..2^31 - 1, a degree outside 1..65536, a cost
///           model for another shape, or one that answers any question with what is no time, no amount of memory or no
///           part: planning ends, and the detail names slice, pass and part (of several such answers one of the first
///           met, which may vary with the number of threads); a slicer that breaks laws 1 to 4, with the question and
///           its answer; a solution that does not run each sequence once (solvers/assembly/detail/checks.hpp);
///           starts that break law 1 of simulators; a plan that takes less than its lower bound or its useful work,
///           with the law of cost models that is broken; what solver, schedule and simulator refuse
///           out_of_memory: nothing fits the limit; the detail has the shortfall in numbers
template <slicer Slicer = slicers::equal_cost, cost_model Cost = costs::quadratic, class Solver = solvers::two_phase,
          schedule_for<workload> Schedule = schedules::list, class Simulator = detail::no_simulator>
requires solver_for<Solver, Slicer, Cost, Schedule> && simulator_for<Simulator>
class basic_planner {
 public:
  explicit basic_planner(shape on, Slicer slicer, Cost cost, Solver solver, Schedule schedule, Simulator simulator)
      : shape_(on),
        slicer_(std::move(slicer)),
        cost_(std::move(cost)),
        solver_(std::move(solver)),
        schedule_(std::move(schedule)),
        simulator_(std::move(simulator)) {}

  /// Whether a batch may be planned at all, before any work.
  [[nodiscard]] result<void> check(const batch_view& batch) const {
    constexpr bool takes_any_cost = solver_for<Solver, Slicer, searched_cost, Schedule>;
    if (result<void> fine =
            detail::batch_check(shape_, batch, detail::abilities_of(cost_, takes_any_cost, plans_prefixes_of(solver_)));
        !fine)
      return fine;
    return detail::longest_check(detail::answers_of(cost_), shape_, batch.longest())(weight_gradients_of<Schedule>);
  }

  /// Plans a batch; sequence ids are positions in it. A stop token (slimpack::deadline's, say) makes a search end
  /// early with its best, and marks the plan as truncated, since it may then differ from machine to machine.
  [[nodiscard]] result<plan> operator()(const batch_view& batch, std::stop_token stop = {}) const;

  /// Plans the forward of `lengths` alone, to evaluate a model (executors::packflow::evaluate): packs, orders, memory,
  /// times and bounds of one pass. What each stage holds of a sequence goes with its last forward on a chunk; where
  /// samples share beginnings, with that of the last sequence that goes on behind it. The solver and the schedule of
  /// steps are not asked, but for the solver's threads and search_options; no sequence is shared; nothing is reduced.
  /// Memory is what the cost model says of evaluations (hook `evaluation_memory`), or else of steps.
  /// Search    forward_search, or solvers::packed_forward (solvers/packed_forward.hpp) for the packs of a baseline:
  ///           solve gets from options_of what it needs of the planner's solver
  /// Requires  solvers/forward.hpp, which has the search and is included by who evaluates
  /// Law       is_forward_only(plan); all else as of operator()
  /// Errors    those of operator(); invalid_input: the shape is not for a forward alone (forward_fault_of)
  template <class Search = solvers::forward_search>
  [[nodiscard]] result<plan> plan_forward(const batch_view& batch, std::stop_token stop = {}) const {
    constexpr bool is_there = requires { sizeof(Search); };
    static_assert(is_there, "plan_forward has its search in slimpack/solvers/forward.hpp: include it");
    if constexpr (is_there)
      return planned_forward<Search>(batch, stop);
    else
      return error{};  // says nothing behind the sentence
  }

  /// Divides `lengths` among all replicas, and plans no more than the group that replica `replica` is of: what a rank
  /// needs to run its stage. A stop token marks the part as truncated: then one rank of a group plans and the others
  /// get its part.
  /// Law       put_together of the parts of all replicas is the plan that operator() makes, to the bit
  /// Errors    those of operator(), as far as they show in the group; invalid_input: there is no such replica
  /// Complexity that of the division, and of planning the group's replicas
  [[nodiscard]] result<rank_plan> of_replica(const batch_view& batch, std::uint32_t replica, std::stop_token stop = {})
      const requires group_solver_for<Solver, Slicer, Cost, Schedule>;

  /// The whole plan of the parts of all groups, in any order; the same part may come several times. It has what parts
  /// have not: step time, bounds, efficiency, bubble and rank time. Its planning time is that of the part that took
  /// longest.
  /// Requires  parts made by this planner, or by another one of the same policies
  /// Errors    invalid_input: parts of different batches, shapes or divisions, or a replica that no part has, or that
  ///           two parts plan differently
  [[nodiscard]] result<plan> put_together(std::span<const rank_plan> parts) const;

 private:
  template <class Search>
  [[nodiscard]] result<plan> planned_forward(const batch_view& batch, std::stop_token stop) const {
    const auto begin = std::chrono::steady_clock::now();
    if (result<void> fine = check(batch); !fine) return std::move(fine).error();
    if (const char* const fault = forward_fault_of(shape_))
      return error{errc::invalid_input, std::string("the shape is not for a forward alone: ") + fault};
    detail::time_faults faults(stop);
    const problem asked{
        .lengths = batch.lengths(), .shape = shape_, .stop = faults.token(), .parents = batch.parents()};
    result<solution> solved =
        Search::solve(asked, checked_cuts(slicer_, batch.lengths(), faults), searched_cost(cost_, faults, shape_),
                      threads_of(solver_), Search::options_of(solver_));
    if (faults.any()) return faults.told(batch, shape_.quantum);
    if (!solved) return std::move(solved).error();
    const acceptance accepted(*this, faults);
    plan p = accepted.assembly.blank(batch);
    p.reduction.reset(), p.reduce_time = {};  // forward alone makes no gradients
    if (result<void> cut = detail::plan_assembly::take_cut(solved.value(), batch, p); !cut)
      return std::move(cut).error();
    if (result<void> sound =
            detail::solution_check(solved.value(), batch_of(p), shape_, std::span(both_passes).first(1));
        !sound)
      return std::move(sound).error();
    if (result<void> run = accepted.assembly.simulate(p, simulators::joint_groups({}, p.replicas.size()),
                                                      std::move(solved).value(), detail::plan_assembly::never, true);
        !run)
      return std::move(run).error();
    Search::bound_replicas(p, accepted.cost);
    result<void> proved = accepted.assembly.prove(p, Search::bounds(accepted.cost, shape_, batch.sequences()));
    if (faults.any()) return faults.told(batch, shape_.quantum);
    if (!proved) return std::move(proved).error();
    detail::plan_assembly::sign(p, stop, begin);
    return p;
  }

  using searched_cost = detail::searched_times<Cost>;
  static_assert(cost_model<searched_cost>, "what a solver is given in place of the cost model is one");

  using checked_cuts = detail::checked_slicer<Slicer>;
  static_assert(slicer<checked_cuts>, "what a solver is given in place of the slicer is one");

  /// Calls ask(slicer, cost model) with both as they are checked. A solver that is written for one slicer or one cost
  /// model alone is given that: what its plan is made of is checked all the same.
  template <template <class, class> class Takes, class Ask>
  auto asked(const problem& batch, const searched_cost& cost, detail::time_faults& faults, const Ask& ask) const {
    const checked_cuts cuts(slicer_, batch.lengths, faults);
    if constexpr (Takes<checked_cuts, searched_cost>::value)
      return ask(cuts, cost);
    else if constexpr (Takes<Slicer, searched_cost>::value)
      return ask(slicer_, cost);
    else if constexpr (Takes<checked_cuts, Cost>::value)
      return ask(cuts, cost_);
    else
      return ask(slicer_, cost_);
  }
  template <class Cuts, class Prices>
  struct solves : std::bool_constant<solver_for<Solver, Cuts, Prices, Schedule>> {};
  template <class Cuts, class Prices>
  struct solves_groups : std::bool_constant<group_solver_for<Solver, Cuts, Prices, Schedule>> {};

  result<solution> solution_of(const problem& batch, const searched_cost& cost, detail::time_faults& faults) const {
    return asked<solves>(batch, cost, faults, [&](const auto& cuts, const auto& prices) {
      return solver_.solve(batch, cuts, prices, schedule_);
    });
  }

  /// What makes a plan of a solution, with the planner's cost model and simulator as it is given them.
  struct acceptance {
    acceptance(const basic_planner& of, detail::time_faults& faults)
        : answers(of.cost_),
          cost(answers, faults),
          simulator(of.simulator_),
          assembly(of.shape_, cost, simulator, threads_of(of.solver_), weight_gradients_of<Schedule>) {}
    acceptance(const acceptance&) = delete;
    acceptance& operator=(const acceptance&) = delete;

    detail::answers_of<Cost> answers;
    detail::checked_answers cost;
    detail::simulator_behind<Simulator> simulator;
    detail::plan_assembly assembly;
  };

  /// A template, so that a planner whose solver plans no group alone can be instantiated explicitly.
  template <class Searched>
  result<group_solution> group_of(const problem& batch, const Searched& cost, detail::time_faults& faults,
                                  std::uint32_t replica) const {
    return asked<solves_groups>(batch, cost, faults, [&](const auto& cuts, const auto& prices) {
      return solver_.solve_group(batch, cuts, prices, schedule_, replica);
    });
  }

  shape shape_;
  [[no_unique_address]] Slicer slicer_;
  Cost cost_;
  [[no_unique_address]] Solver solver_;
  [[no_unique_address]] Schedule schedule_;
  [[no_unique_address]] Simulator simulator_;
};

// Outside of the class, so that it is not inline: `extern template class slimpack::basic_planner<...>;` keeps a file
// from compiling all that planning needs.
template <slicer Slicer, cost_model Cost, class Solver, schedule_for<workload> Schedule, class Simulator>
requires solver_for<Solver, Slicer, Cost, Schedule> && simulator_for<Simulator> result<plan>
basic_planner<Slicer, Cost, Solver, Schedule, Simulator>::operator()(const batch_view& batch,
                                                                     std::stop_token stop) const {
  if (result<void> fine = check(batch); !fine) return std::move(fine).error();
  detail::time_faults faults(stop);
  const searched_cost cost(cost_, faults, shape_);
  return acceptance(*this, faults).assembly.searched(batch, stop, faults, efforts_of(solver_), [&](const problem& one) {
    return solution_of(one, cost, faults);
  });
}

template <slicer Slicer, cost_model Cost, class Solver, schedule_for<workload> Schedule, class Simulator>
requires solver_for<Solver, Slicer, Cost, Schedule> && simulator_for<Simulator> result<rank_plan>
basic_planner<Slicer, Cost, Solver, Schedule, Simulator>::of_replica(const batch_view& batch, std::uint32_t replica,
                                                                     std::stop_token stop)
const requires group_solver_for<Solver, Slicer, Cost, Schedule> {
  // clang 14 compiles this for any solver where a planner is instantiated explicitly.
  if constexpr (group_solver_for<Solver, Slicer, Cost, Schedule>) {
    if (result<void> fine = check(batch); !fine) return std::move(fine).error();
    detail::time_faults faults(stop);
    const searched_cost cost(cost_, faults, shape_);
    return acceptance(*this, faults).assembly.searched_group(batch, stop, faults, [&](const problem& one) {
      return group_of(one, cost, faults, replica);
    });
  } else {
    return error{errc::invalid_input, ""};
  }
}

template <slicer Slicer, cost_model Cost, class Solver, schedule_for<workload> Schedule, class Simulator>
requires solver_for<Solver, Slicer, Cost, Schedule> && simulator_for<Simulator> result<plan>
basic_planner<Slicer, Cost, Solver, Schedule, Simulator>::put_together(std::span<const rank_plan> parts)
const {
  if (!parts.empty()) {
    const result<uncut_forest> batch = uncut(batch_of(parts.front().part), parts.front().part.copies);
    if (!batch) return batch.error();
    if (result<void> fine = check(batch.value()); !fine) return std::move(fine).error();
  }
  detail::time_faults faults{std::stop_token{}};
  return acceptance(*this, faults).assembly.put_together(parts, faults);
}

}  // namespace slimpack

#endif
