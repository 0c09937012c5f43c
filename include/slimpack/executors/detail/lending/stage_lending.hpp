#ifndef SLIMPACK_EXECUTORS_DETAIL_LENDING_STAGE_LENDING_HPP
#define SLIMPACK_EXECUTORS_DETAIL_LENDING_STAGE_LENDING_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/executors/detail/greeting.hpp>
#include <slimpack/executors/detail/kept_pieces.hpp>
#include <slimpack/executors/detail/lending/loan_transfers.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/lending/lending.hpp>
#include <slimpack/executors/lending/loan_format.hpp>
#include <slimpack/executors/outgoing.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/executors/step_report.hpp>
#include <slimpack/transports/detail/any_transport.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace slimpack::detail {

/// The ties of a stage to others (core/ensemble/stage_ties.hpp), for a compute that lends attention: packs that are run
/// while their stage and others send each other what is lent.
template <class Compute>
class stage_lending {
 public:
  /// Whether the compute can run such packs. Where it cannot, plans with ties are refused.
  static constexpr bool can_run = lends_attention<Compute>;

  /// Requires  all outlive it            Errors    invalid_input: a plan that the compute, or the transport, cannot run
  [[nodiscard]] result<void> open(const Compute& compute, any_transport& port, const plan& p,
                                  const stage_script& script) {
    for (const loan& l : p.replicas[static_cast<std::size_t>(script.replica)].loans)
      if (!script.outline.forward_only || l.pass() == pass::forward) loans_.push_back(l);
    of_ = stage_loans(loans_, static_cast<std::uint32_t>(script.stage));
    if (!of_.empty()) {
      if (!can_run)
        return error{
            errc::invalid_input,
            "the plan's stages lend each other attention, the compute does not say lends_attention = true: plan "
            "with lending none"};
      if (port.moves_device_memory() || port.keeps_plan_order())
        return error{
            errc::invalid_input,
            "the plan's stages lend each other attention, whose messages come layer by layer within a call, and "
            "this transport keeps one order of all transfers: plan with lending none"};
      if (result<void> apart = lends_pieces(script); !apart) return apart;
    }
    if constexpr (can_run) {
      const bool lends =
          std::any_of(p.replicas.begin(), p.replicas.end(), [](const replica_plan& r) { return !r.loans.empty(); });
      for (std::uint32_t chunk = 0; lends && chunk < static_cast<std::uint32_t>(script.on.chunks); ++chunk)
        formats_.push_back(compute.loans(chunk));
      if (result<void> even = lends_evenly(); !even) return even;
      transfers_.emplace(port, script.replica * script.on.stages, ties_channel);
    }
    return success();
  }

  /// Of all chunks; nothing where no stage of the plan is tied to another.
  [[nodiscard]] tie_sizes sizes() const {
    tie_sizes sum;
    for (const loan_format& format : formats_) {
      sum.layers += format.layers;
      for (const pass p : both_passes)
        for (const auto* messages : {&format.offered, &format.asked, &format.answered})
          for (const loan_message& m : (*messages)[p]) {
            ++sum.in[p].messages;
            (m.of_keys ? sum.in[p].keys : sum.in[p].queries) += static_cast<std::int64_t>(m.format.bytes_per_token());
          }
    }
    return sum;
  }

  /// Whether an instruction is tied to those of other stages.
  [[nodiscard]] bool ties(const instruction& i) const { return of_.of(i) != nullptr; }

  /// What each compute that can run tied packs must offer, whatever its plans have.
  static constexpr void check() {
    if constexpr (can_run)
      static_assert(!kept_pieces<Compute>::by_piece && !kept_pieces<Compute>::has_state,
                    "a stage compute that lends attention is called by pack, and keeps its states itself");
  }

  /// Runs a tied instruction.            call(handle): calls the compute with what it sends and gets
  template <class Call>
  [[nodiscard]] result<void> run(const instruction& i, const Call& call) requires(can_run) {
    static_assert(
        requires(Compute & c, std::span<const piece> pack, std::span<const std::byte> bytes, outgoing & to,
                 lending & handle) {
          { c.forward(pack, bytes, to, handle) } -> std::same_as<result<void>>;
          { c.backward(pack, bytes, to, handle) } -> std::same_as<result<void>>;
        },
        "a stage compute that lends attention has result<void> forward(span<const piece>, span<const byte>, outgoing&, "
        "lending&), and backward");
    if (result<void> begun = transfers_->begin(*of_.of(i), i.pass(), formats_[i.chunk]); !begun) return begun;
    lending& with = *transfers_;
    result<void> done = transfers_->guard([&] { return call(with); });
    if (result<void> ended = transfers_->end(done.has_value()); !ended) return ended;
    return done;
  }

  /// Waits for every send.
  [[nodiscard]] result<void> complete() { return transfers_ ? transfers_->complete() : success(); }

  /// What it has sent.
  void report(step_report& to) const {
    if (!transfers_) return;
    to.lent = {static_cast<double>(transfers_->bytes_sent())};
    to.loan_messages = static_cast<std::int64_t>(transfers_->messages_sent());
  }

  void discard_all() { transfers_.reset(); }

 private:
  /// What this stage lends is asked for by one piece each, whatever cuts the passes have; and who lends or helps has a
  /// call in which it does, behind the rows that its replica shares.
  [[nodiscard]] result<void> lends_pieces(const stage_script& script) const {
    const auto stage = static_cast<std::uint32_t>(script.stage);
    const auto of_tokens = [](const loan& l) {
      return "the plan lends attention of tokens [" + std::to_string(l.queries.begin.value) + ", " +
             std::to_string(l.queries.end().value) + ") of sequence " + std::to_string(l.queries.sequence.value);
    };
    for (const loan& l : loans_)
      for (const loan::side* const side : {&l.lender, &l.helper}) {
        if (side->stage != stage) continue;
        const piece_list& list = script.of(l.pass());
        const auto [first, end] = list.range(side->what.pack.value);
        const std::span<const piece> pack(list.pieces.data() + first, end - first);
        if (std::all_of(pack.begin(), pack.end(), [](const piece& one) { return one.shared; }))
          return error{errc::invalid_input,
                       of_tokens(l) + ", and " + name_of(side->what, script.on.chunks) + " of stage " +
                           std::to_string(stage) +
                           " has nothing but rows that replicas share, which are not run "
                           "beside it: lend nothing in lock steps that have it, or plan with lending none"};
        if (side == &l.lender && std::none_of(pack.begin(), pack.end(),
                                              [&](const piece& one) { return one.slice == l.queries && !one.shared; }))
          return error{errc::invalid_input,
                       of_tokens(l) + (script.shared.find(l.queries.sequence) != nullptr
                                           ? ", which replicas share: lend of sequences that one replica has, or plan "
                                             "with lending none"
                                           : ", which the compute takes in several pieces (backward_cuts): plan with "
                                             "one kind of slices for both passes, or with lending none")};
      }
    return success();
  }

  /// Chunks lend each other attention layer by layer, so that all have as many. That other ranks have, their greetings
  /// say.
  [[nodiscard]] result<void> lends_evenly() const {
    for (std::size_t chunk = 1; chunk < formats_.size(); ++chunk)
      if (formats_[chunk].layers != formats_[0].layers)
        return error{errc::invalid_input, "the plan's stages lend each other attention, and the compute has " +
                                              std::to_string(formats_[0].layers) + " layers in chunk 0 and " +
                                              std::to_string(formats_[chunk].layers) + " in chunk " +
                                              std::to_string(chunk) +
                                              ": give all chunks as many layers, or plan with lending none"};
    return success();
  }

  std::vector<loan> loans_;  // of the replica, in the passes that the step runs
  stage_loans of_;
  std::vector<loan_format> formats_;  // by chunk; empty where no stage of the plan lends
  std::optional<loan_transfers> transfers_;
};

}  // namespace slimpack::detail

#endif
