#ifndef SLIMPACK_EXECUTORS_IMPL_STAGE_SCRIPT_IPP
#define SLIMPACK_EXECUTORS_IMPL_STAGE_SCRIPT_IPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/laws/can_run.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/executors/backward_cuts.hpp>
#include <slimpack/executors/detail/piece_list.hpp>
#include <slimpack/executors/detail/plan_check.hpp>
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

[[nodiscard]] inline bool runs_in(const shared_sequence& with, pass p, std::size_t pack) {
  const std::vector<row_part>& rows = with.rows[p];
  return std::any_of(rows.begin(), rows.end(), [&](const row_part& r) { return r.pack == pack; });
}

[[nodiscard]] inline error no_row(const slice& s, pass p, std::size_t pack) {
  return {errc::invalid_input, name_of(instruction{pass_kind(p), {static_cast<std::uint32_t>(pack)}}, 1) +
                                   " has tokens [" + std::to_string(s.begin.value) + ", " +
                                   std::to_string(s.end().value) + ") of sequence " + std::to_string(s.sequence.value) +
                                   ", which replicas share, and is in no row of it"};
}

[[nodiscard]] inline error broken(const slice& s, pass p, std::size_t pack, std::int64_t at) {
  std::string what = name_of(instruction{pass_kind(p), {static_cast<std::uint32_t>(pack)}}, 1) + " has tokens [" +
                     std::to_string(s.begin.value) + ", " + std::to_string(s.end().value) + ") of sequence " +
                     std::to_string(s.sequence.value);
  if (at < 0) return {errc::invalid_input, what + ", which is not of this replica"};
  return {errc::out_of_order,
          what + (p == pass::forward ? ", where they should begin at " : ", where they should end at ") +
              std::to_string(at)};
}

SLIMPACK_DECL result<stage_script> stage_script::of(const plan& p, int rank, backward_cuts cuts, exchange_set shares,
                                                    bool is_part, bool forward_only) {
  if (std::min({p.shape.stages, p.shape.replicas, p.shape.chunks}) < 1 || rank < 0 ||
      rank / p.shape.stages >= p.shape.replicas)
    return error{errc::invalid_input, "the plan has no rank " + std::to_string(rank)};
  if (p.shape.quantum < tokens{1})
    return error{errc::invalid_input, "the plan has a quantum of " + std::to_string(p.shape.quantum.value) + " tokens"};
  if (p.shape.vocabulary == vocabulary::spread && p.shape.stages < 2)
    return error{errc::invalid_input,
                 "the plan spreads the vocabulary over one stage: it needs 2 or more, or vocabulary::last"};
  stage_script s;
  s.on = p.shape;
  s.replica = rank / p.shape.stages;
  s.stage = rank % p.shape.stages;
  if (result<void> whole = plan_check::is_whole(p, shares, is_part); !whole) return std::move(whole).error();
  if (is_forward_only(p) && !forward_only)
    return error{errc::invalid_input, "the plan runs forward packs alone (plan_forward): run it by evaluate"};
  if (forward_only && p.shape.vocabulary == vocabulary::spread)
    return error{errc::invalid_input,
                 "the plan spreads the vocabulary over the stages, whose calls run both passes: evaluate plans "
                 "with shape.vocabulary = vocabulary::last"};
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
  result<shared_sequences> with_others = shared_sequences::of(p, own_replica);
  if (!with_others) return std::move(with_others).error();
  shared = std::move(with_others).value();
  const replica_plan& own = p.replicas[own_replica];
  if (own.sequences.empty())
    idle(p);
  else if (own.programs.size() != static_cast<std::size_t>(on.stages))
    return error{errc::invalid_input, "the plan has " + std::to_string(own.programs.size()) + " programs for " +
                                          std::to_string(on.stages) + " stages"};
  else {
    for (const sequence_id id : own.sequences) sequences.push_back({id, p.lengths[id.value]});
    code = own.programs[own_stage];
    result<void> listed = success();
    if (cuts == backward_cuts::any || outline.forward_only) {
      listed = list(own.partition, p.lengths);
    } else {
      listed = list(common_refinement(own.partition), p.lengths);
      if (listed) match();
    }
    if (!listed) return listed;
    if (result<void> apart = split(own.times.apart); !apart) return apart;
  }
  wires_ = wiring(on);
  if (result<void> sound = follow(); !sound) return sound;
  result<transfer_script> ordered = outline.idle ? transfer_script::idle(code, own_replica, own_stage, p.shape)
                                                 : transfer_script::of(p, own_replica, own_stage);
  if (!ordered) return std::move(ordered).error();
  transfers = std::move(ordered).value();
  return can_run(p, group_of(p, own_replica));
}

/// A replica without work runs one piece of weight 0, so that whatever the trainer's layers do in backward (hooks
/// that reduce gradients) happens on every rank: the beginning of the batch's shortest sequence.
SLIMPACK_DECL void stage_script::idle(const plan& p) {
  outline.idle = true;
  const auto shortest = std::min_element(p.lengths.begin(), p.lengths.end());
  if (shortest == p.lengths.end()) return;
  const sequence_id id{static_cast<std::uint32_t>(shortest - p.lengths.begin())};
  const tokens length = std::min(*shortest, p.shape.quantum);
  sequences.push_back({id, length});
  for (const pass way : passes()) {
    piece_list& list = of(way);
    list.pieces.push_back({{id, {0}, length}, length, 0, 0});
    list.held.push_back(length.value);
    list.ends.push_back(1);
    list.size.push_back(length);
  }
  if (!outline.forward_only) forward_of.push_back(0);
  // Each kind after the one that it follows on all stages, so that no transfer waits for one behind it.
  const auto add = [&](instruction_kind kind) {
    if (has(on, kind)) code.push_back({kind, {0}});
  };
  add(instruction_kind::embed);
  for (std::uint32_t chunk = 0; chunk < static_cast<std::uint32_t>(on.chunks); ++chunk)
    code.push_back({instruction_kind::forward, {0}, chunk});
  if (outline.forward_only) return;
  add(instruction_kind::output);
  add(instruction_kind::output_weights);
  for (auto chunk = static_cast<std::uint32_t>(on.chunks); chunk-- > 0;)
    code.push_back({instruction_kind::backward, {0}, chunk});
  add(instruction_kind::embed_gradients);
}

/// Lists the pieces of both passes. Slices must run in order forward and in reverse order backward.
SLIMPACK_DECL result<void> stage_script::list(const partition& packs, std::span<const tokens> lengths) {
  std::vector<std::int64_t> at(lengths.size(), -1);  // where each sequence of this replica goes on
  for (const sequence& s : sequences) at[s.id.value] = 0;
  for (const pass p : passes()) {
    piece_list& list = of(p);
    const micropacks& from = packs.of(p);
    for (std::size_t i = 0; i < from.size(); ++i) {
      tokens size{};
      list_rows(list, p, static_cast<std::uint32_t>(i), from[i], size, lengths);
      for (const slice& s : from[i]) {
        if (const shared_sequence* with = shared.find(s.sequence)) {
          if (!runs_in(*with, p, i)) return no_row(s, p, i);
          continue;
        }
        const bool known = s.sequence.value < at.size() && at[s.sequence.value] >= 0;
        if (!known || at[s.sequence.value] != s.entry(p).value)
          return broken(s, p, i, known ? at[s.sequence.value] : -1);
        at[s.sequence.value] = s.exit(p).value;
        list.pieces.push_back({s, lengths[s.sequence.value], 0, 0});
        list.held.push_back(s.end().value);
        size += s.length;
      }
      list.ends.push_back(static_cast<std::uint32_t>(list.pieces.size()));
      list.size.push_back(size);
    }
    for (const sequence& s : sequences)
      if (shared.find(s.id) == nullptr && at[s.id.value] != slice{s.id, {}, s.length}.exit(p).value)
        return error{errc::invalid_input, "the plan leaves out tokens of sequence " + std::to_string(s.id.value)};
  }
  return success();
}

/// Lists the pieces of a pack that belong to shared rows: they come first, row by row in the order of the shared
/// sequences, which is the same on all ranks; so no rank waits for a row that another runs after one that it waits for.
SLIMPACK_DECL void stage_script::list_rows(piece_list& list, pass p, std::uint32_t pack, std::span<const slice> slices,
                                           tokens& size, std::span<const tokens> lengths) const {
  for (std::uint32_t k = 0; k < shared.all().size(); ++k) {
    const shared_sequence& with = shared.all()[k];
    const std::vector<row_part>& rows = with.rows[p];
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const row_part& r) { return r.pack == pack; });
    if (row == rows.end()) continue;
    const auto first = static_cast<std::uint32_t>(list.pieces.size());
    for (const slice& s : slices)
      if (s.sequence == with.id)
        list.pieces.push_back(
            {s, lengths[s.sequence.value], 0, 0, false, true, with.own.front().begin, with.own.back().end()});
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

/// Marks the backward pieces whose weight gradients run apart. From some backward piece of a sequence on they do, or
/// nowhere: a compute lets go of its tokens from the last to the first, and has done with it after the first.
SLIMPACK_DECL result<void> stage_script::split(const apart_packs& of) {
  if (of.count() == 0) return success();
  if (of.flags.size() != backward.ends.size())
    return error{errc::invalid_input, "the plan says of " + std::to_string(of.flags.size()) +
                                          " packs where their weight " + "gradients run, it has " +
                                          std::to_string(backward.ends.size())};
  backward.apart = of;
  std::vector<std::uint8_t> apart(ids());  // per sequence, whether some of it was
  for (std::uint32_t pack = 0; pack < backward.ends.size(); ++pack) {
    for (auto [at, end] = backward.range(pack); at < end; ++at) {
      piece& one = backward.pieces[at];
      one.weights_apart = of.splits(pack);
      std::uint8_t& before = apart[one.slice.sequence.value];
      if (before != 0 && !one.weights_apart)
        return error{errc::invalid_input,
                     "B" + std::to_string(pack) + " holds weight gradients of sequence " +
                         std::to_string(one.slice.sequence.value) +
                         ", those of a pack before it are in W: they would be done with in the wrong order"};
      before = one.weights_apart;
    }
  }
  return success();
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

/// Walks through the program: checks its order and counts what is live.
SLIMPACK_DECL result<void> stage_script::follow() {
  script_walk walk(on, stage, ids(), forward, backward);
  for (const instruction& i : code)
    if (result<void> sound = walk.take(i); !sound) return sound;
  if (result<void> whole = walk.ended(); !whole) return whole;
  outline.replica = replica;
  outline.stage = stage;
  outline.packs_in_flight = walk.most_packs_in_flight();
  outline.tokens_in_flight = walk.most_tokens_in_flight();
  for (const piece_list* list : {&forward, &backward})
    for (const tokens size : list->size) outline.largest_pack = std::max(outline.largest_pack, size);
  return success();
}

}  // namespace slimpack::detail

#endif
