#ifndef SLIMPACK_EXECUTORS_IMPL_STAGE_SCRIPT_IPP
#define SLIMPACK_EXECUTORS_IMPL_STAGE_SCRIPT_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/order/slice_order.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/soundness/detail/sound_packs.hpp>
#include <slimpack/core/soundness/detail/sound_programs.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/executors/detail/piece_list.hpp>
#include <slimpack/executors/detail/script/script_walk.hpp>
#include <slimpack/executors/detail/script/transfer_script.hpp>
#include <slimpack/executors/detail/shared/shared_sequences.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/executors/step_outline.hpp>
#include <slimpack/pricing/detail/forward_alone.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/simulators/transfer_order.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/transports/hooks.hpp>

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

[[nodiscard]] inline error not_shared(const merge& m, exchange_set shares) {
  std::string says;
  for (const exchange e : {exchange::keep, exchange::queries, exchange::ring})
    if (shares.contains(e)) says += (says.empty() ? "" : " and ") + std::string(name_of(e));
  says = says.empty() ? "does not say shares_rows = true" : "shares rows by " + says + " alone (shares_rows)";
  return {errc::invalid_input, "sequence " + std::to_string(m.sequence.value) + " is shared by " +
                                   std::to_string(m.replicas.size()) +
                                   " replicas by exchange::" + std::string(name_of(m.exchange)) + ", the compute " +
                                   says + ": plan with planner_for<its type> (planner_for.hpp)"};
}

SLIMPACK_DECL result<stage_script> stage_script::of(const plan& p, int rank, backward_cuts cuts, exchange_set shares,
                                                    bool is_part, bool forward_only) {
  for (const merge& m : p.merges)
    if (!shares.contains(m.exchange)) return not_shared(m, shares);
  if (result<void> packs = sound_packs(p, is_part ? extent::listed : extent::all); !packs)
    return std::move(packs).error();
  if (rank < 0 || rank / p.shape.stages >= p.shape.replicas)
    return error{errc::invalid_input, "the plan has no rank " + std::to_string(rank)};
  stage_script s;
  s.on = p.shape;
  s.replica = rank / p.shape.stages;
  s.stage = rank % p.shape.stages;
  if (result<void> runs = sound_programs(p, group_of(p, static_cast<std::uint32_t>(s.replica))); !runs)
    return std::move(runs).error();
  if (is_forward_only(p) && !forward_only)
    return error{errc::invalid_input, "the plan runs forward packs alone (plan_forward): run it by evaluate"};
  if (const char* const fault = forward_only ? forward_fault_of(p.shape) : nullptr)
    return error{
        errc::invalid_input,
        std::string("evaluate cannot run this plan's forward alone: ") + fault +
            ". Run the step by the plan that is evaluated, too, where its log-probabilities have to be those of "
            "the evaluation, bit for bit"};
  s.outline.forward_only = forward_only;
  const bool drops = forward_only && !is_forward_only(p);
  if (result<void> made = drops ? s.read(forward_alone(p, cuts != backward_cuts::any), cuts) : s.read(p, cuts); !made)
    return std::move(made).error();
  return s;
}

SLIMPACK_DECL stage_script::message_ends stage_script::sources(const instruction& i) const {
  message_ends all;
  for (const wire& w : wires_.before(place(i))) all.push_back({rank_of(w.from), channel(w.to)});
  return all;
}

SLIMPACK_DECL stage_script::message_ends stage_script::targets(const instruction& i) const {
  message_ends all;
  for (const wire& w : wires_.after(place(i))) all.push_back({rank_of(w.to), channel(w.to)});
  return all;
}

SLIMPACK_DECL result<void> stage_script::read(const plan& p, backward_cuts cuts) {
  const auto own_replica = static_cast<std::uint32_t>(replica), own_stage = static_cast<std::uint32_t>(stage);
  shared = shared_sequences(p, own_replica);
  const replica_plan& own = p.replicas[own_replica];
  if (own.sequences.empty()) {
    idle(p);
  } else {
    const slice_order order(batch_of(p));
    for (const sequence_id id : own.sequences) sequences.push_back(order.of(id));
    paths = path_facts(p);
    code = own.programs[own_stage];
    if (cuts == backward_cuts::any || outline.forward_only) {
      list(own.partition);
    } else {
      list(common_refinement(own.partition));
      match();
    }
    paths.add_edges(forward, backward);
    outline.has_targets = paths.has_targets();
    split(own.times.apart);
  }
  wires_ = wiring(on);
  follow();
  result<transfer_script> ordered = outline.idle ? transfer_script::idle(code, own_replica, own_stage, p.shape)
                                                 : transfer_script::of(p, own_replica, own_stage);
  if (!ordered) return std::move(ordered).error();
  transfers = std::move(ordered).value();
  return success();
}

/// A replica without work runs one piece of weight 0, so that whatever the trainer's layers do in backward (hooks
/// that reduce gradients) happens on every rank: the beginning of the batch's shortest sequence that has no parent.
SLIMPACK_DECL void stage_script::idle(const plan& p) {
  outline.idle = true;
  const std::vector<sequence> all = batch_of(p).sequences();
  const auto shortest = std::min_element(all.begin(), all.end(), [](const sequence& a, const sequence& b) {
    return a.is_root() != b.is_root() ? a.is_root() : a.length < b.length;
  });
  if (shortest == all.end()) return;
  const sequence_id id = shortest->id;
  const tokens length = std::min(shortest->length, p.shape.quantum);
  sequences.push_back({id, length});
  for (const pass way : passes()) {
    piece_list& list = of(way);
    list.pieces.push_back({{id, {0}, length}, length, 0, 0});
    list.pieces.back().samples = 0;
    list.held.push_back(length.value);
    list.ends.push_back(1);
    list.size.push_back(length);
  }
  if (!outline.forward_only) forward_of.push_back(0);
  // Each kind after the one that it follows on all stages, so that no transfer waits for one behind it.
  for (const instruction_kind kind : kinds_of_a_pack) {
    const instruction_facts& facts = facts_of(kind);
    if (!has(on, kind) || (facts.pass == pass::backward && outline.forward_only)) continue;
    const auto chunks = static_cast<std::uint32_t>(facts.each == places::parts ? on.chunks : 1);
    for (std::uint32_t k = 0; k < chunks; ++k)
      code.push_back({kind, {0}, facts.pass == pass::forward ? k : chunks - 1 - k});
  }
}

/// Lists the pieces of both passes.
SLIMPACK_DECL void stage_script::list(const partition& packs) {
  for (const pass p : passes()) {
    piece_list& list = of(p);
    const micropacks& from = packs.of(p);
    for (std::size_t i = 0; i < from.size(); ++i) {
      tokens size{};
      list_rows(list, p, static_cast<std::uint32_t>(i), from[i], size);
      for (const slice& s : from[i]) {
        if (shared.find(s.sequence) != nullptr) continue;
        const piece& one = list.pieces.emplace_back(paths.piece_of(s));
        list.held.push_back((s.end() - one.sequence_begin).value);
        size += s.length;
      }
      list.ends.push_back(static_cast<std::uint32_t>(list.pieces.size()));
      list.size.push_back(size);
    }
  }
}

/// Lists the pieces of a pack that belong to shared rows: they come first, row by row in the order of the shared
/// sequences, which is the same on all ranks; so no rank waits for a row that another runs after one that it waits for.
SLIMPACK_DECL void stage_script::list_rows(piece_list& list, pass p, std::uint32_t pack, std::span<const slice> slices,
                                           tokens& size) const {
  for (std::uint32_t k = 0; k < shared.all().size(); ++k) {
    const shared_sequence& with = shared.all()[k];
    const std::vector<row_part>& rows = with.rows[p];
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const row_part& r) { return r.pack == pack; });
    if (row == rows.end()) continue;
    const auto first = static_cast<std::uint32_t>(list.pieces.size());
    for (const slice& s : slices)
      if (s.sequence == with.id) {
        piece& one = list.pieces.emplace_back(paths.piece_of(s));
        one.shared = true;
        one.own_begin = with.own.front().begin;
        one.own_end = with.own.back().end();
      }
    std::sort(list.pieces.begin() + first, list.pieces.end(), [&](const piece& a, const piece& b) {
      return p == pass::forward ? a.slice.begin < b.slice.begin : b.slice.begin < a.slice.begin;
    });
    for (std::size_t at = first; at < list.pieces.size(); ++at) {
      list.held.push_back(with.own_before(list.pieces[at].slice.end()));
      size += list.pieces[at].slice.length;
    }
    list.rows.push_back(
        {first, static_cast<std::uint32_t>(list.pieces.size()), k, static_cast<std::uint32_t>(row - rows.begin())});
  }
}

/// Marks the backward pieces whose weight gradients run apart.
SLIMPACK_DECL void stage_script::split(const apart_packs& of) {
  if (of.count() == 0) return;
  backward.apart = of;
  for (std::uint32_t pack = 0; pack < backward.ends.size(); ++pack)
    for (auto [at, end] = backward.range(pack); at < end; ++at) backward.pieces[at].weights_apart = of.splits(pack);
}

/// Finds the forward piece of each backward piece: the last of its sequence that has none yet.
SLIMPACK_DECL void stage_script::match() {
  std::vector<boost::container::small_vector<std::uint32_t, few_pieces>> open;  // per sequence, forward pieces
  for (std::uint32_t i = 0; i < forward.pieces.size(); ++i) {
    const std::size_t s = forward.pieces[i].slice.sequence.value;
    if (open.size() <= s) open.resize(s + 1);
    open[s].push_back(i);
  }
  for (const piece& b : backward.pieces) {
    auto& of = open[b.slice.sequence.value];
    forward_of.push_back(of.back());
    of.pop_back();
  }
}

/// Walks through the program and counts what is live.
SLIMPACK_DECL void stage_script::follow() {
  script_walk walk(static_cast<std::size_t>(on.chunks), sequences, forward, backward);
  for (const instruction& i : code) walk.take(i);
  outline.replica = replica;
  outline.stage = stage;
  outline.packs_in_flight = walk.most_packs_in_flight();
  outline.tokens_in_flight = walk.most_tokens_in_flight();
  for (const piece_list* list : {&forward, &backward})
    for (const tokens size : list->size) outline.largest_pack = std::max(outline.largest_pack, size);
}

}  // namespace slimpack::detail

#endif
