#ifndef SLIMPACK_CONCEPTS_HPP
#define SLIMPACK_CONCEPTS_HPP

#include <slimpack/core/cut_budget.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/piece.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/problem.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/solution.hpp>
#include <slimpack/core/step_report.hpp>
#include <slimpack/core/workload.hpp>
#include <slimpack/detail/unmet.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack {

namespace detail {

struct archetype_cost {
  seconds time(const slice&, pass, int) const;
};

template <class C>
concept prices_slices = requires(const C& c, const slice& s, pass p, int part) {
  { c.time(s, p, part) } -> std::same_as<seconds>;
};

template <class S>
concept cuts_sequences =
    requires(const S& s, const sequence& q, tokens at, pass p, const cut_budget& left, const archetype_cost& c) {
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

template <class T>
concept moves_bytes =
    requires(T& t, int peer, int channel, std::span<const std::byte> out, std::span<std::byte> in,
             typename T::handle& handle, std::string_view reason) {
      { t.send(peer, channel, out) } -> std::same_as<result<typename T::handle>>;
      { t.receive(peer, channel, in) } -> std::same_as<result<typename T::handle>>;
      { t.wait(handle) } -> std::same_as<result<void>>;
      t.abort(reason);
    };

template <class C>
concept computes_pieces = requires(C& c, const piece& p, typename C::state state, std::span<const std::byte> in,
                                   std::span<std::byte> out) {
  { c.forward(p, in, out) } -> std::same_as<result<typename C::state>>;
  { c.backward(p, std::move(state), in, out) } -> std::same_as<result<void>>;
  c.discard(p, std::move(state));
};

template <class E, class Compute, class Transport>
concept runs_plans = requires(E& e, const plan& p, int replica, int stage, Compute& c, Transport& t) {
  { e.execute(p, replica, stage, c, t) } -> std::same_as<result<step_report>>;
};

}  // namespace detail

/// A slicer says where a sequence may be cut to fill what is left of a pack. Forward, `at` is where the next slice
/// begins; backward, where it ends, since gradients run from a sequence's end to its beginning.
///  1. the slices given one after the other tile the sequence, in order of the pass
///  2. cuts fall on multiples of the budget's quantum, or on the sequence's ends
///  3. a slice never exceeds the budget's size; one of length 0 says that nothing fits into this pack
///  4. with an empty pack and room for it, some slice is given
///  5. equal questions get equal slices
/// testing/slicer_laws.hpp checks them. A slicer knows no devices and no order; see solver_for for those.
/// Shipped   slicers::equal_cost (default) where the cost model says the pack is full; slicers::uniform every n tokens,
///           where kernels want one shape; slicers::whole never, for baselines
template <class S>
concept slicer = std::copyable<S> &&
    (detail::cuts_sequences<S> ||
     detail::unmet<"a slicer offers slice next(const sequence&, tokens at, pass, const cut_budget&, const auto& cost) const">());

/// A cost model says how long a slice runs on a part of the model (part c p + r is chunk c of stage r).
/// Further questions (overhead, messages, memory, ...) have defaults that a member replaces: costs/hooks.hpp.
///  1. times are finite and not negative, for every slice of at least one token
///  2. a pack costs no less than its largest member
///  3. time does not fall when a slice's prefix or length grows
///  4. analytic models conserve attention work: the times of a sequence's slices add up to its own
///  5. equal questions get equal answers
/// testing/cost_model_laws.hpp checks them. A cost model knows no slicer, solver, schedule or simulator.
/// Shipped   costs::quadratic (default) seconds per token and pair, to learn, to test and where you have measured them;
///           costs::transformer from a model's dimensions and a GPU, before you have
template <class C>
concept cost_model = std::copyable<C> &&
    (detail::prices_slices<C> || detail::unmet<"a cost model offers seconds time(const slice&, pass, int part) const">());

/// A schedule orders a replica's packs on each stage. It reads their times and memory, never the cost model;
/// W is the workload type it reads.
///  1. each stage runs each forward and each backward pack once per chunk, packs in run order
///  2. the programs are free of deadlock (design rule 5; with chunks, the task graph is acyclic)
///  3. the workload's memory limit holds, or the answer is errc::out_of_memory
/// testing/schedule_laws.hpp checks them.
/// Shipped   schedules::list (default) event-driven under the memory limit; schedules::one_f_one_b any lead, where the
///           trainer's order is fixed, and for virtual stages
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
/// Shipped   solvers::two_phase (default); to compare with, solvers::megatron, dp_balanced, karmarkar_karp, chunked
template <class S, class Slicer, class Cost, class Schedule>
concept solver_for = std::copyable<S> && slicer<Slicer> && cost_model<Cost> && schedule_for<Schedule> &&
    (detail::solves<S, Slicer, Cost, Schedule> ||
     detail::unmet<"a solver offers result<solution> solve(const problem&, const Slicer&, const Cost&, const Schedule&) const">());

/// A transport carries bytes between ranks. Sends and receives return at once with a handle; a receive may be
/// posted before its message is sent. Nothing here forbids a CUDA stream or a communicator behind it.
///  1. messages arrive once, whole and in order per (peer, channel)
///  2. abort wakes every waiting call, on all ranks, with an error that carries the reason
template <class T>
concept transport = std::movable<T> &&
    (detail::moves_bytes<T> ||
     detail::unmet<"a transport offers a type handle, send(peer, channel, bytes), receive(peer, channel, bytes), wait(handle), abort(reason)">());

/// A stage compute is the trainer's own model on one stage.
///  1. the state that forward returns comes back exactly once, to backward or to discard
///  2. gradients equal those of the uncut sequences
///  3. calls are made on the caller's thread, in program order
template <class C>
concept stage_compute = std::movable<C> &&
    (detail::computes_pieces<C> ||
     detail::unmet<"a stage compute offers a type state, forward(piece, in, out), backward(piece, state, in, out), discard(piece, state)">());

/// An executor runs one stage's program of a plan with a trainer's compute and transport.
///  1. every instruction of the stage runs once, in program order
///  2. it stops before the optimizer step and returns what the step needs to know
template <class E, class Compute, class Transport>
concept executor_for = std::movable<E> && stage_compute<Compute> && transport<Transport> &&
    (detail::runs_plans<E, Compute, Transport> ||
     detail::unmet<"an executor offers result<step_report> execute(const plan&, int replica, int stage, Compute&, Transport&)">());

}  // namespace slimpack

#endif
