#ifndef SLIMPACK_EXECUTORS_PACKFLOW_HPP
#define SLIMPACK_EXECUTORS_PACKFLOW_HPP

#include <slimpack/concepts/running.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/messages/checked_transport.hpp>
#include <slimpack/executors/detail/stage_run.hpp>
#include <slimpack/executors/job/step_watch.hpp>
#include <slimpack/executors/joined/joined_row.hpp>
#include <slimpack/transports/detail/any_transport.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

/// The executors, and when to choose which: packflow is the only one.
namespace slimpack::executors {

/// Runs this rank's stage of a plan: forwards, backwards, messages and gradient reduction, up to the optimizer step.
///
///   slimpack::executors::packflow run;
///   slimpack::step_report step = run.execute(plan, compute, transport).value();
///   optimizer.step();                                     // on every rank, or on none
///
/// A step: 1. ranks compare plans (or divisions, and plans within a group), message formats and shapes; 2. begin_step;
/// 3. the program, whose transfers are posted in one order on all ranks (simulators/transfer_order.hpp), so that they
///    cannot wait for each other even if only one runs at
/// a time; receives early and sends left under way, so that messages travel while stages compute; 4. nothing may be
/// held any more; 5. reduce; 6. ranks tell each other that all is done. Only then does any rank return a report.
/// Loss weights are relative to the valid tokens of the whole batch, as the compute of each replica's last stage counts
/// them before the first forward. A replica without sequences runs one piece of weight 0.
/// Replicas that share a sequence run each row of it together: every sharer's compute gets its own pieces of the row in
/// one call, with a handle for the exchange (executors/sharing.hpp). A pack's shared rows run before its other pieces;
/// or, by a compute that says joins_rows, where `rows` asks for it, in one call with them, so that these cover the
/// exchanges (executors/joined/joined_row.hpp). Where the plan spreads the vocabulary over the stages, each runs its
/// share of the words by four more calls (executors/hooks.hpp). Gradients of hidden rows that these complete on the
/// last stage are kept there by the runtime, until the backward that takes them.
/// All calls of the compute are made on the calling thread, but interrupt. Nothing is kept from one step to the next.
///
/// When something goes wrong, on any rank: every rank's transport is told and wakes, pieces that were forwarded are
/// discarded, abort_step is called, and execute returns that rank's error, which names rank, replica, stage, chunk
/// where there are several, instruction, the piece that the compute was called with (the first of a pack, and how many
/// more) and cause; ranks that fail at the same moment may each return their own. An exception of the compute leaves
/// execute on its own rank, after the same; others and `sink` get the first line of its text. It does not where another
/// rank had failed before, or a watchdog had interrupted the call: execute returns why, on all ranks. A last message
/// lost to a rank just before it returns can fail that rank alone (no protocol can exclude it). A trainer that numbers
/// its steps hears of it at the next: ranks compare `step`. A compute that calls packflow back from one of its calls is
/// refused there, whatever the transport, and the step goes on.
/// Errors    invalid_input: the plan is for other ranks, or needs what the compute does not offer; disagreement,
///           wrong_message, compute_failed, out_of_order, state_left, timed_out, aborted; the transport's
/// Source    SlimPack, arXiv:2509.26246, calls its runtime PackFlow; this design of it is ours
struct packflow {
  std::int64_t step{};                           ///< the trainer's number of the step, the same on every rank
  std::function<void(std::string_view)> sink{};  ///< hears why a step stopped, once; the result says the same. With a
                                                 ///< `world` also, on its thread, that a call of the compute which
                                                 ///< waits for a failed rank goes on
  std::function<int(int)> trainer_rank{};  ///< the trainer's number of a rank of the transport, the same function on
                                           ///< all ranks: how errors name it, also those of the transport
                                           ///< (core/rank_names.hpp)
  row_calls rows{row_calls::apart};        ///< how a compute that joins rows is called; of any other they are run apart
  std::function<int(int)> node_of{};       ///< the node of a rank of the transport, the same function on all ranks:
                                           ///< rows that cross nodes are posted first. Empty: all ranks are on one
  step_watch* world{};  ///< where a job runs the plan over several transports, as tensor ranks do: hears on each rank
                        ///< of failures on all (job/watchdog.hpp). With it, no rank returns a report before all ranks
                        ///< of the job have succeeded
  bool checksums{};  ///< the same on every rank: each message of a step has a checksum, of 8 bytes and in a message of
                     ///< its own, and one that came damaged, or cut short, stops the step. Over transports of host
                     ///< memory alone. Unchecked are: what a transport does by itself (all_reduce, all_gather), so
                     ///< MPI's and NCCL's sums; and what computes send around packflow, as tensor-parallel ranks do
                     ///< over a communicator. step_report::checksums has its cost; without, there is none

  template <stage_compute Compute, transport Transport>
  result<step_report> execute(const plan& p, Compute& compute, Transport& transport) const {
    return run_stage(p, compute, transport, false);
  }
  /// The same where each rank planned its own group: ranks compare the division, and within a group the plan.
  template <stage_compute Compute, transport Transport>
  result<step_report> execute(const rank_plan& p, Compute& compute, Transport& transport) const {
    return run_stage(p, compute, transport, false);
  }

  /// Runs this rank's forwards of a plan, to evaluate: losses, and log-probabilities of a compute that offers them. Any
  /// plan will do, one of basic_planner::plan_forward or of a step.
  ///
  ///   const slimpack::step_report report = run.evaluate(plan, compute, transport).value();
  ///   double loss = report.loss_sum;                                   // of the whole batch
  ///   const slimpack::edge_values& old = report.log_probabilities;     // of what this rank ran
  ///
  /// As execute, but for this: begin_step is told forward_only; what a forward keeps of a sequence goes to discard
  /// after the sequence's last forward on a chunk, right behind sequence_forwarded, the last piece first; there is no
  /// backward and no reduction. Sequences that replicas share are run by the same exchanges, and stages run together
  /// the same attention.
  /// Law       by a plan of a step, forward is called with the pieces and messages of the step, and in its order. So a
  ///           compute that computes one thing alike in both (law 8 of stage_compute) gives the bits of the step's loss
  ///           and log-probabilities: while weights are the same, and so are `rows`, `node_of`, transport and machine;
  ///           also if plans of several steps are made beforehand, and evaluated before the first of them.
  ///           Not by a plan of plan_forward, whose packs are others, since a matrix product's last bits depend on how
  ///           many rows it has: edge_values::of_step refuses its values
  /// Errors    those of execute; invalid_input: the plan spreads the vocabulary over the stages
  /// Source    derived; in bf16, log-probabilities of other packs differ by .03 on average and .75 at most (measured by
  ///           others on a model of 1.7 B parameters), so that a clipped objective clips before any weight has changed
  template <stage_compute Compute, transport Transport>
  result<step_report> evaluate(const plan& p, Compute& compute, Transport& transport) const {
    return run_stage(p, compute, transport, true);
  }
  /// The same where each rank planned its own group.
  template <stage_compute Compute, transport Transport>
  result<step_report> evaluate(const rank_plan& p, Compute& compute, Transport& transport) const {
    return run_stage(p, compute, transport, true);
  }

  /// Chosen where one of the above cannot be: says why, without a word of candidates.
  /// const, so that executor_for does not take what it gives for a report
  template <class Plan, class Compute, class Transport>
  requires std::same_as<Plan, plan> || std::same_as<Plan, rank_plan>
  const result<step_report> execute(const Plan&, Compute&, Transport&) const { return refused<Compute, Transport>(); }
  template <class Plan, class Compute, class Transport>
  requires std::same_as<Plan, plan> || std::same_as<Plan, rank_plan>
  const result<step_report> evaluate(const Plan&, Compute&, Transport&) const { return refused<Compute, Transport>(); }

 private:
  template <class Compute, class Transport>
  static result<step_report> refused() {
    static_assert(transport<Transport>);
    static_assert(stage_compute<Compute>);
    return error{};
  }

  template <class Plan, class Compute, class Transport>
  result<step_report> run_stage(const Plan& p, Compute& compute, Transport& transport, bool forward_only) const {
    const detail::one_step only;
    if (only.is_within()) return detail::one_step::refused();
    detail::transport_behind<Transport> port(transport, trainer_rank);
    std::optional<detail::checked_transport> checked;
    detail::any_transport* over = &port;
    if (checksums) over = &checked.emplace(port);
    detail::stage_run<Compute, Transport> run(p, compute, transport, *over,
                                              {step, &sink, world, rows, &node_of, forward_only, checksums});
    result<step_report> outcome = run.attempt();
    if (outcome && checked) outcome.value().checksums = checked->spent();
    if (outcome) return outcome;
    const error told = run.stop(std::move(outcome).error());
    if (sink) sink(told.detail);
    run.rethrow();
    return told;
  }
};

}  // namespace slimpack::executors

#endif
