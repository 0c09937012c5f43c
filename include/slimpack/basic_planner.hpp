#ifndef SLIMPACK_BASIC_PLANNER_HPP
#define SLIMPACK_BASIC_PLANNER_HPP

#include <slimpack/concepts/planning.hpp>
#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/pricing/detail/checked_times.hpp>
#include <slimpack/pricing/detail/longest_check.hpp>
#include <slimpack/pricing/detail/time_faults.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/detail/batch_check.hpp>
#include <slimpack/solvers/detail/plan_assembly.hpp>
#include <slimpack/solvers/detail/solution_check.hpp>
#include <slimpack/solvers/hooks.hpp>
#include <slimpack/solvers/pack/needs.hpp>
#include <slimpack/solvers/two_phase.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace slimpack {

namespace solvers {
struct forward_search;  // solvers/forward.hpp
}

namespace detail {
struct no_simulator {};  // who leaves the simulator out of basic_planner is told so by simulator_for
}

/// Plans a batch: slices and packs by Slicer and Solver, orders by Schedule, times by Cost; then checks the result, runs it
/// in Simulator and proves how close to the best possible it is. It has no default simulator, and so needs no Boost.Graph;
/// planner.hpp has one.
///
///   slimpack::basic_planner plan_batch{{.stages = 8}, {}, {}, {}, {}, slimpack::simulators::sweep{}};
///   slimpack::plan plan = plan_batch(lengths).value();
///
/// Trust     A solver's answer is taken for its packs and its order alone. They are checked, priced and simulated here
///           once more, although a search has done so before: whatever solver it was, the figures of a plan are the cost
///           model's and the simulator's. That takes as long as one candidate of a search.
/// Law       equal inputs give equal plans, planning_time apart; every plan satisfies testing/plan_laws.hpp
/// Threads   those that the solver has (solvers/hooks.hpp) also price and simulate replicas, so that slicer, cost model,
///           schedule and simulator are called from several at once, as const objects
/// Errors    invalid_input: an empty batch, a length or quantum outside 1..2^31 - 1, a degree outside 1..65536, a cost
///           model for another shape, or one that answers any question with what is no time: planning ends, and the
///           detail names slice, pass and part (of several such answers one of the first met, which may vary with the
///           number of threads); a solution that does not run each sequence once (solvers/detail/solution_check.hpp); what
///           solver, schedule and simulator refuse
///           out_of_memory: nothing fits the limit; the detail has the shortfall in numbers
template <slicer Slicer = slicers::equal_cost, cost_model Cost = costs::quadratic, class Solver = solvers::two_phase,
          schedule_for<workload> Schedule = schedules::list, class Simulator = detail::no_simulator>
  requires solver_for<Solver, Slicer, Cost, Schedule> && simulator_for<Simulator>
class basic_planner {
 public:
  explicit basic_planner(shape on, Slicer slicer, Cost cost, Solver solver, Schedule schedule, Simulator simulator)
      : shape_(on), slicer_(std::move(slicer)), cost_(std::move(cost)), solver_(std::move(solver)),
        schedule_(std::move(schedule)), simulator_(std::move(simulator)) {}

  /// Whether a batch may be planned at all, before any work.
  [[nodiscard]] result<void> check(std::span<const tokens> lengths) const {
    constexpr bool takes_any_cost = solver_for<Solver, Slicer, searched_cost, Schedule>;
    if (result<void> fine = detail::batch_check(shape_, lengths, {parts_of(cost_), spreads_vocabulary<Cost>(), takes_any_cost}); !fine)
      return fine;
    const tokens longest = *std::max_element(lengths.begin(), lengths.end());
    return detail::longest_check(cost_, shape_, longest)(weight_gradients_of<Schedule>);
  }

  /// Plans `lengths`; sequence ids are positions in it. A stop token (slimpack::deadline's, say) makes a search end early
  /// with its best, and marks the plan as truncated, since it may then differ from machine to machine.
  [[nodiscard]] result<plan> operator()(std::span<const tokens> lengths, std::stop_token stop = {}) const;

  /// Plans the forward of `lengths` alone, to evaluate a model (executors::packflow::evaluate): packs, orders, memory, times and
  /// bounds of one pass. What each stage holds of a sequence goes with its last forward on a chunk. The solver and the
  /// schedule of steps are not asked; no sequence is shared; nothing is reduced.
  /// Requires  solvers/forward.hpp, which has the search and is included by who evaluates
  /// Law       is_forward_only(plan); all else as of operator()
  /// Errors    those of operator(); invalid_input: the shape spreads the vocabulary, of which plans run both passes
  template <class Search = solvers::forward_search>
  [[nodiscard]] result<plan> plan_forward(std::span<const tokens> lengths, std::stop_token stop = {}) const {
    static_assert(requires { sizeof(Search); }, "plan_forward has its search in slimpack/solvers/forward.hpp: include it");
    const auto begin = std::chrono::steady_clock::now();
    if (result<void> fine = check(lengths); !fine) return std::move(fine).error();
    if (shape_.vocabulary == vocabulary::spread)
      return error{errc::invalid_input, "shape.vocabulary is spread, whose calls run both passes: plan_forward needs vocabulary::last"};
    detail::time_faults faults(stop);
    const problem asked{lengths, shape_, faults.token()};
    result<solution> solved = Search::solve(asked, slicer_, searched_cost(cost_, faults, shape_), threads_of(solver_));
    if (faults.any()) return faults.told(lengths, shape_.quantum);
    if (!solved) return std::move(solved).error();
    const checked_cost cost(cost_, faults);
    if (result<void> sound = detail::solution_check(solved.value(), lengths, shape_, std::span(both_passes).first(1))(); !sound)
      return std::move(sound).error();
    const detail::plan_assembly<checked_cost, Simulator> assemble = assembly(cost);
    plan p = assemble.blank(lengths);
    p.reduction.reset(), p.reduce_time = {};  // forward alone makes no gradients
    if (result<void> run = assemble.simulate(p, simulators::joint_groups({}, p.replicas.size()), std::move(solved).value()); !run)
      return std::move(run).error();
    Search::bound_replicas(p, cost);
    assemble.prove(p, Search::bounds(cost, shape_, solvers::sequences_of(lengths)));
    if (faults.any()) return faults.told(lengths, shape_.quantum);
    p.truncated = stop.stop_possible();
    p.planning_time = {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
    p.hash = hash_of(p);
    return p;
  }

  /// Divides `lengths` among all replicas, and plans no more than the group that replica `replica` is of: what a rank needs
  /// to run its stage. A stop token marks the part as truncated: then one rank of a group plans and the others get its
  /// part.
  /// Law       put_together of the parts of all replicas is the plan that operator() makes, to the bit
  /// Errors    those of operator(), as far as they show in the group; invalid_input: there is no such replica
  /// Complexity that of the division, and of planning the group's replicas
  [[nodiscard]] result<rank_plan> of_replica(std::span<const tokens> lengths, std::uint32_t replica,
                                             std::stop_token stop = {}) const
    requires group_solver_for<Solver, Slicer, Cost, Schedule>;

  /// The whole plan of the parts of all groups, in any order; the same part may come several times. It has what parts have
  /// not: step time, bounds, efficiency, bubble and rank time. Its planning time is that of the part that took longest.
  /// Requires  parts made by this planner, or by another one of the same policies
  /// Errors    invalid_input: parts of different batches, shapes or divisions, or a replica that no part has, or that two
  ///           parts plan differently
  [[nodiscard]] result<plan> put_together(std::span<const rank_plan> parts) const;

 private:
  using searched_cost = detail::checked_times<Cost, false>;
  using checked_cost = detail::checked_times<Cost, true>;
  static_assert(cost_model<searched_cost>, "what a solver is given in place of the cost model is one");

  /// A solver orders forwards and backwards of a pipeline that turns packs on one stage more, where the vocabulary is spread
  /// (pricing/detail/vocabulary_turn.hpp). Its programs without that stage.
  solution of_layers(solution&& solved) const {
    if (shape_.vocabulary == vocabulary::spread)
      for (replica_solution& r : solved.replicas)
        if (r.programs.size() > static_cast<std::size_t>(shape_.stages)) r.programs.resize(static_cast<std::size_t>(shape_.stages));
    return std::move(solved);
  }

  /// A solver that is written for one cost model alone is given that: what its plan is made of is checked all the same.
  result<solution> solution_of(const problem& batch, const searched_cost& cost) const {
    if constexpr (solver_for<Solver, Slicer, searched_cost, Schedule>)
      return solver_.solve(batch, slicer_, cost, schedule_);
    else
      return solver_.solve(batch, slicer_, cost_, schedule_);
  }

  [[nodiscard]] detail::plan_assembly<checked_cost, Simulator> assembly(const checked_cost& cost) const {
    return {shape_, cost, simulator_, threads_of(solver_), weight_gradients_of<Schedule>};
  }

  /// A template, so that a planner whose solver plans no group alone can be instantiated explicitly.
  template <class Searched>
  result<group_solution> group_of(const problem& batch, const Searched& cost, std::uint32_t replica) const {
    if constexpr (group_solver_for<Solver, Slicer, Searched, Schedule>)
      return solver_.solve_group(batch, slicer_, cost, schedule_, replica);
    else
      return solver_.solve_group(batch, slicer_, cost_, schedule_, replica);
  }

  shape shape_;
  [[no_unique_address]] Slicer slicer_;
  Cost cost_;
  [[no_unique_address]] Solver solver_;
  [[no_unique_address]] Schedule schedule_;
  [[no_unique_address]] Simulator simulator_;
};

// Outside of the class, so that it is not inline: `extern template class slimpack::basic_planner<...>;` keeps a file from
// compiling all that planning needs.
template <slicer Slicer, cost_model Cost, class Solver, schedule_for<workload> Schedule, class Simulator>
  requires solver_for<Solver, Slicer, Cost, Schedule> && simulator_for<Simulator>
result<plan> basic_planner<Slicer, Cost, Solver, Schedule, Simulator>::operator()(std::span<const tokens> lengths,
                                                                                  std::stop_token stop) const {
  const auto begin = std::chrono::steady_clock::now();
  if (result<void> fine = check(lengths); !fine) return std::move(fine).error();
  detail::time_faults faults(stop);
  const searched_cost searched(cost_, faults, shape_);
  shape on = detail::vocabulary_turn::searched(shape_);
  result<plan> made = error{};
  // A search leaves room for what a spread vocabulary holds between calls. Where it was not enough, it gets less to fill.
  for (int tries = shape_.vocabulary == vocabulary::spread && shape_.memory ? 5 : 1;; --tries) {
    result<solution> solved = solution_of(problem{lengths, on, faults.token()}, searched);
    if (faults.any()) return faults.told(lengths, shape_.quantum);
    if (!solved) return std::move(solved).error();
    made = assembly(checked_cost(cost_, faults)).of(lengths, of_layers(std::move(solved).value()));
    if (faults.any()) return faults.told(lengths, shape_.quantum);
    if (made || made.error().code != errc::out_of_memory || tries == 1) break;
    on.memory->amount *= 0.97;
  }
  if (!made) return made;
  plan& p = made.value();
  p.truncated = stop.stop_possible();
  p.planning_time = {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
  p.hash = hash_of(p);
  return made;
}

template <slicer Slicer, cost_model Cost, class Solver, schedule_for<workload> Schedule, class Simulator>
  requires solver_for<Solver, Slicer, Cost, Schedule> && simulator_for<Simulator>
result<rank_plan> basic_planner<Slicer, Cost, Solver, Schedule, Simulator>::of_replica(std::span<const tokens> lengths,
                                                                                       std::uint32_t replica,
                                                                                       std::stop_token stop) const
  requires group_solver_for<Solver, Slicer, Cost, Schedule>
{
  // clang 14 compiles this for any solver where a planner is instantiated explicitly.
  if constexpr (group_solver_for<Solver, Slicer, Cost, Schedule>) {
    const auto begin = std::chrono::steady_clock::now();
    if (result<void> fine = check(lengths); !fine) return std::move(fine).error();
    detail::time_faults faults(stop);
    const problem asked{lengths, detail::vocabulary_turn::searched(shape_), faults.token()};
    result<group_solution> solved = group_of(asked, searched_cost(cost_, faults, shape_), replica);
    if (faults.any()) return faults.told(lengths, shape_.quantum);
    if (!solved) return std::move(solved).error();
    rank_plan made{solved.value().division, solved.value().replicas, {}};
    solved.value().solved = of_layers(std::move(solved.value().solved));
    result<plan> part = assembly(checked_cost(cost_, faults)).of(lengths, std::move(solved).value());
    if (faults.any()) return faults.told(lengths, shape_.quantum);
    if (!part) return std::move(part).error();
    made.part = std::move(part).value();
    made.part.truncated = stop.stop_possible();
    made.part.planning_time = {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
    made.part.hash = hash_of(made.part);
    return made;
  } else {
    return error{errc::invalid_input, ""};
  }
}

template <slicer Slicer, cost_model Cost, class Solver, schedule_for<workload> Schedule, class Simulator>
  requires solver_for<Solver, Slicer, Cost, Schedule> && simulator_for<Simulator>
result<plan> basic_planner<Slicer, Cost, Solver, Schedule, Simulator>::put_together(std::span<const rank_plan> parts) const {
  const auto wrong = [](const std::string& what) { return error{errc::invalid_input, "parts of a plan: " + what}; };
  if (parts.empty()) return wrong("there are none");
  const plan& first = parts.front().part;
  if (first.shape != shape_) return wrong("they are for another shape than the planner's");
  if (result<void> fine = check(first.lengths); !fine) return std::move(fine).error();
  detail::time_faults faults{std::stop_token{}};
  const checked_cost cost(cost_, faults);
  const detail::plan_assembly<checked_cost, Simulator> assemble = assembly(cost);
  plan p = assemble.blank(first.lengths);
  std::vector<const rank_plan*> of(p.replicas.size());
  for (const rank_plan& r : parts) {
    if (r.group.empty() || r.part.replicas.size() != of.size()) return wrong("one has no group, or other replicas than the shape");
    if (r.division != parts.front().division || r.part.shape != shape_ || r.part.lengths != first.lengths)
      return wrong("replicas " + std::to_string(parts.front().group.front()) + " and " + std::to_string(r.group.front()) + " are of different divisions");
    for (const std::uint32_t replica : r.group) {
      if (replica >= of.size()) return wrong("the shape has no replica " + std::to_string(replica));
      const rank_plan* const before = std::exchange(of[replica], &r);
      if (before && (before->group != r.group || before->part.hash != r.part.hash))
        return wrong("two of them plan replica " + std::to_string(replica) + " differently");
    }
  }
  for (std::uint32_t replica = 0; replica < of.size(); ++replica) {
    if (!of[replica]) return wrong("none plans replica " + std::to_string(replica));
    const rank_plan& r = *of[replica];
    p.replicas[replica] = r.part.replicas[replica];
    if (r.group.front() != replica) continue;
    p.merges.insert(p.merges.end(), r.part.merges.begin(), r.part.merges.end());
    p.truncated = p.truncated || r.part.truncated;
    p.planning_time = std::max(p.planning_time, r.part.planning_time);
  }
  if (result<void> proved = assemble.prove(p); !proved) return std::move(proved).error();
  if (faults.any()) return faults.told(p.lengths, shape_.quantum);
  p.hash = hash_of(p);
  return p;
}

}  // namespace slimpack

#endif
