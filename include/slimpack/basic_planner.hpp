#ifndef SLIMPACK_BASIC_PLANNER_HPP
#define SLIMPACK_BASIC_PLANNER_HPP

#include <slimpack/concepts.hpp>
#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/shared_row.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/detail/amount.hpp>
#include <slimpack/pricing/detail/checked_times.hpp>
#include <slimpack/pricing/detail/longest_check.hpp>
#include <slimpack/pricing/detail/time_faults.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/rank_time_of.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/bounds/lower_bounds.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/reduction.hpp>
#include <slimpack/simulators/step_bounds.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/detail/batch_check.hpp>
#include <slimpack/solvers/detail/parallel.hpp>
#include <slimpack/solvers/detail/solution_check.hpp>
#include <slimpack/solvers/divide/priced_group.hpp>
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
    plan p = blank(lengths, cost);
    p.reduction.reset(), p.reduce_time = {};  // forward alone makes no gradients
    if (result<void> run = simulate(p, simulators::joint_groups({}, p.replicas.size()), std::move(solved).value(), cost); !run)
      return std::move(run).error();
    Search::bound_replicas(p, cost);
    prove(p, cost, Search::bounds(cost, shape_, solvers::sequences_of(lengths)));
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

  /// A template, so that a planner whose solver plans no group alone can be instantiated explicitly.
  template <class Searched>
  result<group_solution> group_of(const problem& batch, const Searched& cost, std::uint32_t replica) const {
    if constexpr (group_solver_for<Solver, Slicer, Searched, Schedule>)
      return solver_.solve_group(batch, slicer_, cost, schedule_, replica);
    else
      return solver_.solve_group(batch, slicer_, cost_, schedule_, replica);
  }

  /// A plan without replicas.
  [[nodiscard]] plan blank(std::span<const tokens> lengths, const checked_cost& cost) const {
    plan p;
    p.simulator = Simulator::name;
    p.lengths.assign(lengths.begin(), lengths.end());
    p.shape = shape_;
    p.memory_unit = unit_of(cost, shape_);
    p.replicas.resize(static_cast<std::size_t>(shape_.replicas));
    p.reduction = simulators::reduction_of(cost, shape_);
    if (!p.reduction && shape_.has_copies()) p.reduce_time = reduce_time_of(cost);  // between copies of the weights
    return p;
  }

  /// Prices a solution, runs it in the simulator, and proves how good it is (see Trust above).
  result<plan> assembled(std::span<const tokens> lengths, solution&& solved, const checked_cost& cost) const {
    if (result<void> sound = detail::solution_check(solved, lengths, shape_)(); !sound) return std::move(sound).error();
    plan p = blank(lengths, cost);
    if (result<void> run = simulate(p, simulators::joint_groups(solved.merges, p.replicas.size()), std::move(solved), cost);
        !run)
      return std::move(run).error();
    if (result<void> proved = prove(p, cost); !proved) return std::move(proved).error();
    return p;
  }

  /// The part of a group, priced and run likewise.
  result<plan> assembled(std::span<const tokens> lengths, group_solution&& group, const checked_cost& cost) const {
    if (result<void> sound = detail::solution_check(group, lengths, shape_)(); !sound) return std::move(sound).error();
    plan p = blank(lengths, cost);
    std::vector<std::vector<std::uint32_t>> groups = simulators::joint_groups(group.solved.merges, p.replicas.size());
    std::erase_if(groups, [&](const std::vector<std::uint32_t>& g) {
      return !std::binary_search(group.replicas.begin(), group.replicas.end(), g.front());
    });
    if (result<void> run = simulate(p, groups, std::move(group.solved), cost); !run) return std::move(run).error();
    return p;
  }

  /// What only a whole plan has: step time, bounds, efficiency, bubble and rank time.
  result<void> prove(plan& p, const checked_cost& cost) const {
    result<std::vector<memory_rates>> rates = rates_of(cost, shape_);
    if (!rates) return std::move(rates).error();
    const std::vector<sequence> batch = solvers::sequences_of(p.lengths);
    if (std::none_of(p.replicas.begin(), p.replicas.end(), [](const replica_plan& r) { return !r.loans.empty(); })) {
      prove(p, cost, simulators::step_bounds(cost, shape_, batch, rates.value()));
      return success();
    }
    bound mean = simulators::mean_stage_bound(cost, shape_, batch);
    mean.time += simulators::least_reduction(cost, shape_);
    prove(p, cost, {mean});
    return success();
  }
  void prove(plan& p, const checked_cost& cost, std::vector<bound> bounds) const {
    for (const replica_plan& r : p.replicas) p.step_time = std::max(p.step_time, r.makespan);
    if (p.reduction) p.reduce_time = simulators::exposed_reduction(p);
    p.step_time += p.reduce_time;
    p.bounds = std::move(bounds);
    for (bound& b : p.bounds) {
      // A bound that a plan meets may come out an ulp above it, since its sum is taken in another order.
      if (b.time > p.step_time && b.time <= p.step_time * (1 + 1e-12)) b.time = p.step_time;
      p.lower_bound = std::max(p.lower_bound, b.time);
    }
    p.rank_time = rank_time_of(p, cost);
    const bool timed = p.step_time > seconds{};  // where nothing takes time, nothing is lost
    p.efficiency = timed ? p.lower_bound / p.step_time : 1;
    p.bubble = timed ? 1 - p.rank_time->useful / (p.step_time * (static_cast<double>(shape_.replicas) * shape_.stages)) : 0;
  }

  /// Prices and runs groups of replicas (joint_groups), and hands them and the merges over to the plan.
  result<void> simulate(plan& p, const std::vector<std::vector<std::uint32_t>>& groups, solution&& solved,
                        const checked_cost& cost) const {
    const result<std::vector<memory_rates>> rates = rates_of(cost, shape_);
    if (!rates) return rates.error();
    std::vector<bool> shared(p.lengths.size());
    for (const merge& m : solved.merges) shared[m.sequence.value] = true;
    result<void> run = detail::for_each_index(groups.size(), threads_of(solver_), [&](std::size_t g) {
      return simulate(p, groups[g], solved, shared, rates.value(), cost);
    });
    if (!run) return run;
    p.merges = std::move(solved.merges);
    return success();
  }

  /// Prices and runs the replicas of a group, which share sequences where they are several (simulators/graph/joint.hpp),
  /// and hands them over to the plan.
  result<void> simulate(plan& p, std::span<const std::uint32_t> group, solution& solved, const std::vector<bool>& shared,
                        const std::vector<memory_rates>& rates, const checked_cost& cost) const {
    result<simulators::priced_group> run =
        simulators::price_group(group, solved, cost, shape_, rates, weight_gradients_of<Schedule>);
    if (!run) return std::move(run).error();
    const simulators::task_graph& graph = run.value().graph;
    const result<std::vector<seconds>> start = simulator_.starts(graph);
    if (!start) return start.error();
    const std::vector<seconds> ends = simulators::ends_of(graph, start.value(), group.size());
    std::vector<std::vector<gradient_span>> gradients;
    if (p.reduction) gradients = simulators::gradients_of(graph, start.value(), group.size(), shape_);
    for (std::size_t g = 0; g < group.size(); ++g) {
      if (!run.value().programs.empty()) solved.replicas[group[g]].programs = std::move(run.value().programs[g]);
      result<replica_plan> one =
          recorded(p.lengths, std::move(solved.replicas[group[g]]), shared, std::move(run.value().works[g]), rates, cost);
      if (!one) return std::move(one).error();
      one.value().makespan = ends[g];
      if (p.reduction) one.value().gradients = std::move(gradients[g]);
      p.replicas[group[g]] = std::move(one).value();
    }
    return success();
  }

  /// A replica of the plan, all but its makespan, with its memory checked.
  result<replica_plan> recorded(std::span<const tokens> lengths, replica_solution&& from,
                                const std::vector<bool>& shared, workload&& work,
                                const std::vector<memory_rates>& rates, const checked_cost& cost) const {
    replica_plan r;
    r.peak_memory = simulators::peak_memory(work, from.programs);
    if (shape_.memory) {
      const double peak = *std::max_element(r.peak_memory.begin(), r.peak_memory.end());
      if (peak > shape_.memory->amount)
        return error{errc::out_of_memory, "the plan needs " + detail::amount(peak, shape_.memory->unit) + ", the limit is " +
                                              detail::amount(shape_.memory->amount, shape_.memory->unit)};
    }
    // What a replica shares with others is not its own: no bound of it alone holds.
    std::vector<sequence> own;
    for (const sequence_id id : from.sequences)
      if (!shared[id.value]) own.push_back({id, lengths[id.value]});
    shape alone = shape_;
    alone.replicas = 1;
    if (!work.loans.empty())
      r.lower_bound = own.empty() ? seconds{} : simulators::mean_stage_bound(cost, alone, own).time;
    else if (!work.is_forward_only())  // plan_forward has bounds of its own
      for (const bound& b : simulators::lower_bounds(cost, alone, own, rates)) r.lower_bound = std::max(r.lower_bound, b.time);
    r.sequences = std::move(from.sequences);
    r.partition = std::move(from.partition);
    r.programs = std::move(from.programs);
    r.forward = std::move(work.forward);
    r.backward = std::move(work.backward);
    r.weight = std::move(work.weight);
    r.vocabulary = std::move(work.vocabulary);
    r.loans = std::move(work.loans);
    r.communication = work.communication;
    r.rates = rates;
    return r;
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
    made = assembled(lengths, of_layers(std::move(solved).value()), checked_cost(cost_, faults));
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
    result<plan> part = assembled(lengths, std::move(solved).value(), checked_cost(cost_, faults));
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
  plan p = blank(first.lengths, cost);
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
  if (result<void> proved = prove(p, cost); !proved) return std::move(proved).error();
  if (faults.any()) return faults.told(p.lengths, shape_.quantum);
  p.hash = hash_of(p);
  return p;
}

}  // namespace slimpack

#endif
