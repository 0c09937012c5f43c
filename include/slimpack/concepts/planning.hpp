#ifndef SLIMPACK_CONCEPTS_PLANNING_HPP
#define SLIMPACK_CONCEPTS_PLANNING_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/detail/unmet.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/hooks.hpp>
#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>

#include <concepts>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// The policies of a planner, and whatever plans a batch.
namespace slimpack {

namespace simulators {
class task_graph;
}

namespace detail {

struct archetype_cost {
  seconds time(const slice&, pass, int) const;
};

template <class C>
concept prices_slices = requires(const C& c, const slice& s, pass p, int part) {
  { c.time(s, p, part) } -> std::same_as<seconds>;
};

template <class S>
concept cuts_sequences = requires(const S& s, const sequence& q, tokens at, pass p, const cut_budget& left,
                                  const archetype_cost& c) {
  { s.next(q, at, p, left, c) } -> std::same_as<slice>;
};

template <class S, class W>
concept orders_packs = requires(const S& s, const W& w) {
  { s.programs(w) } -> std::same_as<result<std::vector<program>>>;
};

template <class S, class Slicer, class Cost, class Schedule>
concept solves = requires(const S& s, const problem& p, const Slicer& slicer, const Cost& c, const Schedule& o) {
  { s.solve(p, slicer, c, o) } -> std::same_as<result<solution>>;
};

template <class S, class Slicer, class Cost, class Schedule>
concept solves_groups = requires(const S& s, const problem& p, const Slicer& slicer, const Cost& c, const Schedule& o,
                                 std::uint32_t replica) {
  { s.solve_group(p, slicer, c, o, replica) } -> std::same_as<result<group_solution>>;
};

template <class S, class Graph>
concept runs_tasks = requires(const S& s, const Graph& g) {
  { S::name } -> std::convertible_to<std::string_view>;
  { s.starts(g) } -> std::same_as<result<std::vector<seconds>>>;
  { s.tails(g) } -> std::same_as<result<std::vector<seconds>>>;
};

template <class P, class Plan>
concept plans_batches_as = requires(P& plan_batch, std::span<const tokens> lengths, std::stop_token stop) {
  { plan_batch(lengths, std::move(stop)) } -> std::same_as<result<Plan>>;
};
template <class P>
concept plans_batches = plans_batches_as<P, plan> || plans_batches_as<P, rank_plan>;

}  // namespace detail

/// A slicer says where a sequence may be cut to fill what is left of a pack. Forward, `at` is where the next slice
/// begins; backward, where it ends, since gradients run from a sequence's end to its beginning.
///  1. the slices given one after the other tile the sequence, in order of the pass
///  2. cuts fall on multiples of the budget's quantum from the sequence's first token, whose place on the path is
///     sequence::begin, or on the sequence's ends
///  3. a slice never exceeds the budget's size; one of length 0 says that nothing fits into this pack
///  4. with an empty pack and room for it, some slice is given
///  5. equal questions get equal slices, on several threads at once, too
/// testing/slicer_laws.hpp checks them. A slicer knows no devices and no order; see solver_for for those.
/// Shipped   slicers::equal_cost (default) where the cost model says the pack is full; slicers::uniform every n tokens,
///           where kernels want one shape; slicers::whole never, for baselines
template <class S>
concept slicer = std::copyable<S> &&
    (detail::cuts_sequences<S> ||
     detail::unmet<
         "a slicer offers slice next(const sequence&, tokens at, pass, const cut_budget&, const auto& cost) const">());

/// A cost model says how long a slice runs on a part of the model (part c p + r is chunk c of stage r).
/// Further questions (overhead, messages, memory, ...) have defaults that a member replaces: costs/hooks.hpp.
///  1. times are finite and not negative, for every slice of at least one token
///  2. a pack costs no less than its overhead and its largest member, with weight gradients and without
///  3. time does not fall when a slice grows at its end, is no less than that of as many tokens without a prefix, and does
///     not fall when the prefix grows, unless the model declares borders (hook `has_borders`); of analytic models it does
///     not fall when a slice grows at its front. The same holds for what backward takes without weight gradients
///  4. analytic models conserve attention work: the times of a sequence's slices add up to its own (those of the hook
///     `least` do, where cutting costs more)
///  5. equal questions get equal answers, on several threads at once, too
/// testing/cost_model_laws.hpp checks them. A cost model knows no slicer, solver, schedule or simulator.
/// Shipped   costs::quadratic (default) seconds per token and pair, to learn, to test and where you have measured them;
///           costs::transformer from a model's dimensions and a GPU, before you have; costs::profiled from measured
///           times, of a trainer's own slices or (costs::profiled_of) of kernels and collectives
template <class C>
concept cost_model = std::copyable<C> &&
    (detail::prices_slices<C> ||
     detail::unmet<"a cost model offers seconds time(const slice&, pass, int part) const">());

/// A schedule orders a replica's packs on each stage. It reads their times and memory, never the cost model;
/// W is the workload type it reads.
///  1. each stage runs each forward and each backward pack once per chunk, packs in run order; where weight gradients
///     may run apart (workload::split), from some backward pack on they do, on all stages, each after its backward
///  2. the programs are free of deadlock: the last stage runs every forward that a backward needs before it, and each
///     stage runs no fewer forwards before a backward than the next does; with chunks, the task graph is acyclic
///  3. the workload's memory limit holds, or the answer is errc::out_of_memory
///  4. one that also offers result<timed_programs> timed(const W&) const tells the same programs, and the makespan
///     that the task graph tells, to the bit: so that a search need not build the graph (schedules/timed.hpp)
/// testing/schedule_laws.hpp checks them. orders_may_change, a constant or a question, lets solvers go on from its
/// order; longer() is itself at more effort, which long searches take.
/// Shipped   schedules::list (default) event-driven under the memory limit; schedules::one_f_one_b any lead, where the
///           trainer's order is fixed; schedules::zero_bubble where the trainer can run weight
///           gradients apart
template <class S, class W = workload>
concept schedule_for = std::copyable<S> &&
    (detail::orders_packs<S, W> ||
     detail::unmet<"a schedule offers result<vector<program>> programs(const workload&) const">());

/// A solver turns a batch into packs and programs for every replica.
///  1. every token of every sequence is once in a forward pack and once in a backward pack of one replica
///  2. cuts fall on the quantum; those of the two passes may differ
///  3. slices run in order forward and in reverse order backward, and the programs obey the schedule laws
///  4. the memory limit holds, or the answer is errc::out_of_memory with the shortfall in numbers
///  5. equal problems get equal solutions
/// testing/solver_laws.hpp checks them.
/// Shipped   solvers::two_phase (default); solvers::refined around any, where backward takes whole forward pieces;
///           to compare with, solvers::megatron, dp_balanced, karmarkar_karp, chunked, slimpipe, context_parallel; to
///           judge them on small batches, solvers::milp
template <class S, class Slicer, class Cost, class Schedule>
concept solver_for = std::copyable<S> && slicer<Slicer> && cost_model<Cost> && schedule_for<Schedule> &&(
    detail::solves<S, Slicer, Cost, Schedule> ||
    detail::unmet<
        "a solver offers result<solution> solve(const problem&, const Slicer&, const Cost&, const Schedule&) const">());

/// A solver that can also plan one group of replicas alone, so that each rank plans its own (planner.of_replica).
///  6. the groups of all replicas, put together, are what `solve` answers; each runs what it says, and all groups have
///     the same fingerprint of the division
/// testing/rank_plan_laws.hpp checks them.
/// Shipped   solvers::two_phase_estimated, any two_phase_with whose divider needs no plans
///           (solvers/divide/divider.hpp), and solvers::refined around one
template <class S, class Slicer, class Cost, class Schedule>
concept group_solver_for = solver_for<S, Slicer, Cost, Schedule> &&
    (detail::solves_groups<S, Slicer, Cost, Schedule> ||
     detail::unmet<
         "a solver that plans one group alone offers result<group_solution> solve_group(const problem&, const Slicer&, "
         "const Cost&, const Schedule&, uint32_t replica) const: solvers::two_phase_estimated does">());

/// A simulator tells when the tasks of an accepted plan start: instructions, messages, and the gates at which replicas
/// that share a sequence wait for each other. Graph is the task graph that it reads.
///  1. starts: a task starts when the last of its predecessors ends, and at 0 where it has none
///  2. tails: after a task has ended, the longest chain of those that wait for it takes its tail; 0 where none waits
///  3. start, duration and tail add up to no more than the makespan, and to the makespan on the critical path
///  4. every graph is answered: none has a cycle, since of tasks that wait for each other no graph is made
///     (task_graph answers errc::cyclic_schedule)
///  5. equal graphs get equal answers, on several threads at once, too
/// testing/simulator_laws.hpp checks them. There are two ways to simulate, for two purposes. A solver's search asks for
/// millions of makespans, and has a simulator of its own that is incremental (simulators/order/changing_order.hpp) or
/// keeps no graph (simulators/graph/makespan.hpp). A planner's simulator runs once over the graph of the plan that was
/// accepted, and what it finds is what the plan claims. Tests tie them: all of them agree to the last bit.
/// A plan keeps its makespans, not the start of each task, and a plan file has no simulator. What shows a plan
/// (io/timeline.hpp, io/trace.hpp, io/plan_graph.hpp, simulators/plan_graphs.hpp) therefore simulates it again, by the
/// simulator that it is given; the default is sweep, of io/plan_graph.hpp boost_graph.
/// Shipped   simulators::boost_graph (default of planner.hpp) with the algorithms of Boost.Graph; simulators::sweep,
///           which costs less to include
template <class S, class Graph = simulators::task_graph>
concept simulator_for = std::copyable<S> &&
    (detail::runs_tasks<S, Graph> ||
     detail::unmet<"a simulator offers a constant name, result<vector<seconds>> starts(const task_graph&) const and "
                   "result<vector<seconds>> tails(const task_graph&) const">());

/// Whatever plans a batch: what may be cached (service/plan_cache.hpp) and planned ahead (service/async_planner.hpp).
///  1. equal lengths get equal plans, as long as nobody asks to stop
///  2. a stop makes it answer soon, with the best plan found; plans under a stop token are marked as truncated
/// Shipped   planner, for all replicas; replica_planner, for the group of one; std::ref of a plan_cache around either
template <class P>
concept batch_planner = std::move_constructible<P> &&
    (detail::plans_batches<P> || detail::unmet<"a batch planner is called with (span<const tokens> lengths, "
                                               "stop_token) and gives result<plan> or result<rank_plan>">());

/// What a batch planner makes: plan or rank_plan.
template <batch_planner P>
using made_by = std::conditional_t<detail::plans_batches_as<P, plan>, plan, rank_plan>;

}  // namespace slimpack

#endif
