#ifndef SLIMPACK_EXECUTORS_DETAIL_STAGE_SCRIPT_HPP
#define SLIMPACK_EXECUTORS_DETAIL_STAGE_SCRIPT_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/executors/backward_cuts.hpp>
#include <slimpack/executors/detail/piece_list.hpp>
#include <slimpack/executors/detail/script_walk.hpp>
#include <slimpack/executors/detail/shared_sequences.hpp>
#include <slimpack/executors/detail/transfer_script.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/executors/step_outline.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/solvers/exchange_set.hpp>

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// One end of a message: a rank and a channel; no rank at the ends of the pipeline.
struct message_end {
  int rank{-1};
  int channel{};
  [[nodiscard]] bool exists() const noexcept { return rank >= 0; }
};

/// What one stage does in a step, checked before anything runs: its pieces, whom it hears and tells, how much is live.
/// Packs travel from part to part of the model; the channel of a message is that of the chunk and the pass that it goes
/// to, so that messages on a channel come in run order whatever order a stage gives its chunks.
class stage_script {
 public:
  int replica{};
  int stage{};
  int stages{};
  int chunks{};
  program code;
  piece_list forward;
  piece_list backward;
  std::vector<std::uint32_t> forward_of;  // per backward piece, its forward piece; empty under backward_cuts::any
  std::vector<sequence> sequences;
  shared_sequences shared;
  transfer_script transfers;
  step_outline outline;                   // valid_tokens is left to the runtime

  [[nodiscard]] const piece_list& of(pass p) const noexcept { return p == pass::forward ? forward : backward; }

  /// One past the largest id of its sequences.
  [[nodiscard]] std::size_t ids() const noexcept {
    std::size_t most = 0;
    for (const sequence& s : sequences) most = std::max(most, std::size_t{s.id.value} + 1);
    return most;
  }

  [[nodiscard]] message_end source(const instruction& i) const {
    if (i.weights_only) return {};
    const int part = part_of(i);
    const bool none = i.pass == pass::forward ? part == 0 : part == stages * chunks - 1;
    if (none) return {};
    return {rank_of(i.pass == pass::forward ? part - 1 : part + 1), channel(i.pass, part)};
  }
  [[nodiscard]] message_end target(const instruction& i) const {
    if (i.weights_only) return {};
    const int part = part_of(i) + (i.pass == pass::forward ? 1 : -1);
    if (part < 0 || part == stages * chunks) return {};
    return {rank_of(part), channel(i.pass, part)};
  }

  /// The channel on which ranks that share rows send them to each other: the one after those of the chunks.
  [[nodiscard]] int row_channel() const noexcept { return 1 + 2 * chunks; }

  /// The first of two channels on which copies of a stage add up gradients beside the program.
  [[nodiscard]] int sums_channel() const noexcept { return row_channel() + 1; }

  /// The last instruction that adds to the gradients of each chunk.
  [[nodiscard]] std::vector<std::size_t> last_of_chunks() const {
    std::vector<std::size_t> last(static_cast<std::size_t>(chunks), 0);
    for (std::size_t at = 0; at < code.size(); ++at)
      if (code[at].pass == pass::backward) last[code[at].chunk] = at;
    return last;
  }

  /// Instructions after which the gradients of each chunk are final, last chunk first; a chunk whose own are final before
  /// those of a later one waits for these, so that all copies of the stage have one order.
  [[nodiscard]] std::vector<std::size_t> gradients_final() const {
    std::vector<std::size_t> last = last_of_chunks();
    std::reverse(last.begin(), last.end());
    for (std::size_t k = 1; k < last.size(); ++k) last[k] = std::max(last[k], last[k - 1]);
    return last;
  }

  /// shares: how the compute can run sequences that replicas share; is_part: whether the plan is the part of a group
  /// (rank_plan), so that other replicas run what it leaves out
  /// Errors    invalid_input: a rank or a replica that the plan has not; slices that do not tile their sequences; shared
  ///           sequences where the compute can run none
  ///           out_of_order: a program that runs a pack twice, never, or backward before what it needs
  ///           cyclic_schedule: programs that wait for each other, so that their transfers have no order
  static result<stage_script> of(const plan& p, int rank, backward_cuts cuts, exchange_set shares, bool is_part = false) {
    if (std::min({p.shape.stages, p.shape.replicas, p.shape.chunks}) < 1 || rank < 0 ||
        rank / p.shape.stages >= p.shape.replicas)
      return error{errc::invalid_input, "the plan has no rank " + std::to_string(rank)};
    if (p.shape.quantum < tokens{1})
      return error{errc::invalid_input, "the plan has a quantum of " + std::to_string(p.shape.quantum.value) + " tokens"};
    stage_script s;
    s.stages = p.shape.stages;
    s.chunks = p.shape.chunks;
    s.replica = rank / p.shape.stages;
    s.stage = rank % p.shape.stages;
    if (p.replicas.size() != static_cast<std::size_t>(p.shape.replicas))
      return error{errc::invalid_input, "the plan has " + std::to_string(p.replicas.size()) + " replicas, its shape " +
                                            std::to_string(p.shape.replicas)};
    for (const merge& m : p.merges)
      if (!shares.contains(m.exchange)) return not_shared(m, shares);
    if (result<void> owned = each_owned(p, is_part); !owned) return std::move(owned).error();
    if (result<void> within = all_within(p); !within) return std::move(within).error();
    result<shared_sequences> shared = shared_sequences::of(p, static_cast<std::uint32_t>(s.replica));
    if (!shared) return std::move(shared).error();
    s.shared = std::move(shared).value();
    const replica_plan& own = p.replicas[static_cast<std::size_t>(s.replica)];
    if (own.sequences.empty())
      s.idle(p);
    else if (own.programs.size() != static_cast<std::size_t>(s.stages))
      return error{errc::invalid_input, "the plan has " + std::to_string(own.programs.size()) + " programs for " +
                                            std::to_string(s.stages) + " stages"};
    else {
      for (const sequence_id id : own.sequences) s.sequences.push_back({id, p.lengths[id.value]});
      s.code = own.programs[static_cast<std::size_t>(s.stage)];
      result<void> listed = success();
      if (cuts == backward_cuts::any) {
        listed = s.list(own.partition, p.lengths);
      } else {
        listed = s.list(common_refinement(own.partition), p.lengths);
        if (listed) s.match();
      }
      if (!listed) return std::move(listed).error();
      if (result<void> split = s.split(own.weight); !split) return std::move(split).error();
    }
    if (result<void> sound = s.follow(); !sound) return std::move(sound).error();
    const auto number = static_cast<std::uint32_t>(s.replica);
    const auto place = static_cast<std::uint32_t>(s.stage);
    result<transfer_script> transfers =
        s.outline.idle ? transfer_script::idle(s.code, number, place, p.shape) : transfer_script::of(p, number, place);
    if (!transfers) return std::move(transfers).error();
    s.transfers = std::move(transfers).value();
    return s;
  }

 private:
  [[nodiscard]] int part_of(const instruction& i) const { return static_cast<int>(i.chunk) * stages + stage; }
  [[nodiscard]] int rank_of(int part) const { return replica * stages + part % stages; }
  [[nodiscard]] int channel(pass p, int part) const { return 1 + 2 * (part / stages) + (p == pass::forward ? 0 : 1); }

  static error not_shared(const merge& m, exchange_set shares) {
    std::string says;
    for (const exchange e : {exchange::keep, exchange::queries, exchange::ring})
      if (shares.contains(e)) says += (says.empty() ? "" : " and ") + std::string(name_of(e));
    says = says.empty() ? "does not say shares_rows = true" : "shares rows by " + says + " alone (shares_rows)";
    return {errc::invalid_input, "sequence " + std::to_string(m.sequence.value) + " is shared by " + std::to_string(m.replicas.size()) +
                                     " replicas by exchange::" + std::string(name_of(m.exchange)) + ", the compute " + says +
                                     ": plan with planner_for<its type> (planner_for.hpp)"};
  }

  /// Each sequence is on one replica, or on those that share it.
  static result<void> each_owned(const plan& p, bool is_part) {
    std::vector<std::vector<std::uint32_t>> owners(p.lengths.size());
    for (std::uint32_t r = 0; r < p.replicas.size(); ++r)
      for (const sequence_id s : p.replicas[r].sequences) {
        if (s.value >= owners.size()) return error{errc::invalid_input, "the plan has no sequence " + std::to_string(s.value)};
        owners[s.value].push_back(r);
      }
    std::vector<const merge*> merged(p.lengths.size());
    for (const merge& m : p.merges) {
      if (m.sequence.value >= merged.size())
        return error{errc::invalid_input, "the plan has no sequence " + std::to_string(m.sequence.value)};
      if (std::exchange(merged[m.sequence.value], &m) != nullptr)
        return error{errc::invalid_input, "sequence " + std::to_string(m.sequence.value) + " is shared twice"};
    }
    for (std::size_t s = 0; s < owners.size(); ++s) {
      if (is_part && merged[s] == nullptr && owners[s].empty()) continue;
      if (merged[s] == nullptr ? owners[s].size() == 1 : owners[s].size() > 1 && owners[s] == merged[s]->replicas) continue;
      return error{errc::invalid_input,
                   "sequence " + std::to_string(s) + " is on " + std::to_string(owners[s].size()) + " replicas; each must be on one" +
                       (merged[s] == nullptr ? "" : ", or on the two or more that share it, in ascending order")};
    }
    return success();
  }

  /// Lengths and slices are at least one token long, and no slice leaves its sequence: sums of them cannot overflow, and
  /// the common refinement of both passes may be taken before it is known that they tile.
  static result<void> all_within(const plan& p) {
    for (std::size_t s = 0; s < p.lengths.size(); ++s)
      if (p.lengths[s] < tokens{1} || p.lengths[s] > longest_supported)
        return error{errc::invalid_input, "sequence " + std::to_string(s) + " has " + std::to_string(p.lengths[s].value) +
                                              " tokens, expected 1 to " + std::to_string(longest_supported.value)};
    for (const replica_plan& r : p.replicas)
      for (const pass direction : {pass::forward, pass::backward})
        for (std::size_t i = 0; i < r.partition.of(direction).size(); ++i)
          for (const slice& s : r.partition.of(direction)[i])
            if (s.sequence.value >= p.lengths.size() || s.length < tokens{1} || s.begin < tokens{} ||
                s.begin > p.lengths[s.sequence.value] || s.length > p.lengths[s.sequence.value] - s.begin)
              return error{errc::invalid_input,
                           name_of(instruction{direction, {static_cast<std::uint32_t>(i)}, 0}, 1) + " has " +
                               std::to_string(s.length.value) + " tokens of sequence " + std::to_string(s.sequence.value) +
                               " from " + std::to_string(s.begin.value) + " on, which it has not"};
    return success();
  }

  /// A replica without work runs one piece of weight 0, so that whatever the trainer's layers do in backward (hooks
  /// that reduce gradients) happens on every rank: the beginning of the batch's shortest sequence.
  void idle(const plan& p) {
    outline.idle = true;
    const auto shortest = std::min_element(p.lengths.begin(), p.lengths.end());
    if (shortest == p.lengths.end()) return;
    const sequence_id id{static_cast<std::uint32_t>(shortest - p.lengths.begin())};
    const tokens length = std::min(*shortest, p.shape.quantum);
    sequences.push_back({id, length});
    for (piece_list* list : {&forward, &backward}) {
      list->pieces.push_back({{id, {0}, length}, length, 0, 0});
      list->held.push_back(length.value);
      list->ends.push_back(1);
      list->size.push_back(length);
    }
    forward_of.push_back(0);
    for (std::uint32_t chunk = 0; chunk < static_cast<std::uint32_t>(chunks); ++chunk)
      code.push_back({pass::forward, {0}, chunk});
    for (auto chunk = static_cast<std::uint32_t>(chunks); chunk-- > 0;) code.push_back({pass::backward, {0}, chunk});
  }

  /// Lists the pieces of both passes. Slices must run in order forward and in reverse order backward.
  result<void> list(const partition& packs, std::span<const tokens> lengths) {
    std::vector<std::int64_t> at(lengths.size(), -1);  // where each sequence of this replica goes on
    for (const sequence& s : sequences) at[s.id.value] = 0;
    for (const pass p : {pass::forward, pass::backward}) {
      piece_list& list = p == pass::forward ? forward : backward;
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
          if (!known || at[s.sequence.value] != (p == pass::forward ? s.begin : s.end()).value)
            return broken(s, p, i, known ? at[s.sequence.value] : -1);
          at[s.sequence.value] = (p == pass::forward ? s.end() : s.begin).value;
          list.pieces.push_back({s, lengths[s.sequence.value], 0, 0});
          list.held.push_back(s.end().value);
          size += s.length;
        }
        list.ends.push_back(static_cast<std::uint32_t>(list.pieces.size()));
        list.size.push_back(size);
      }
      for (const sequence& s : sequences)
        if (shared.find(s.id) == nullptr && at[s.id.value] != (p == pass::forward ? s.length.value : 0))
          return error{errc::invalid_input, "the plan leaves out tokens of sequence " + std::to_string(s.id.value)};
    }
    return success();
  }

  /// Lists the pieces of a pack that belong to shared rows: they come first, row by row in the order of the shared
  /// sequences, which is the same on all ranks; so no rank waits for a row that another runs after one that it waits for.
  void list_rows(piece_list& list, pass p, std::uint32_t pack, std::span<const slice> slices, tokens& size,
                 std::span<const tokens> lengths) const {
    for (std::uint32_t k = 0; k < shared.all().size(); ++k) {
      const shared_sequence& with = shared.all()[k];
      const std::vector<row_part>& rows = with.rows[p];
      const auto row = std::find_if(rows.begin(), rows.end(), [&](const row_part& r) { return r.pack == pack; });
      if (row == rows.end()) continue;
      const auto first = static_cast<std::uint32_t>(list.pieces.size());
      for (const slice& s : slices)
        if (s.sequence == with.id)
          list.pieces.push_back({s, lengths[s.sequence.value], 0, 0, false, true, with.own.front().begin, with.own.back().end()});
      std::sort(list.pieces.begin() + first, list.pieces.end(), [&](const piece& a, const piece& b) {
        return p == pass::forward ? a.slice.begin < b.slice.begin : b.slice.begin < a.slice.begin;
      });
      for (std::size_t at = first; at < list.pieces.size(); ++at) {
        list.held.push_back(with.own_before(list.pieces[at].slice.end()));
        size += list.pieces[at].slice.length;
      }
      list.rows.push_back({first, static_cast<std::uint32_t>(list.pieces.size()), k, static_cast<std::uint32_t>(row - rows.begin())});
    }
  }

  static bool runs_in(const shared_sequence& with, pass p, std::size_t pack) {
    const std::vector<row_part>& rows = with.rows[p];
    return std::any_of(rows.begin(), rows.end(), [&](const row_part& r) { return r.pack == pack; });
  }
  static error no_row(const slice& s, pass p, std::size_t pack) {
    return {errc::invalid_input, name_of(instruction{p, {static_cast<std::uint32_t>(pack)}, 0}, 1) + " has tokens [" +
                                     std::to_string(s.begin.value) + ", " + std::to_string(s.end().value) + ") of sequence " +
                                     std::to_string(s.sequence.value) + ", which replicas share, and is in no row of it"};
  }

  /// Marks the backward pieces whose weight gradients run apart. From some backward piece of a sequence on they do, or
  /// nowhere: a compute lets go of its tokens from the last to the first, and has done with it after the first.
  result<void> split(const weight_timing& weight) {
    if (weight.count() == 0) return success();
    if (weight.apart.size() != backward.ends.size())
      return error{errc::invalid_input, "the plan says of " + std::to_string(weight.apart.size()) + " packs where their weight " +
                                            "gradients run, it has " + std::to_string(backward.ends.size())};
    backward.weight = weight;
    std::vector<std::uint8_t> apart(ids());  // per sequence, whether some of it was
    for (std::uint32_t pack = 0; pack < backward.ends.size(); ++pack) {
      for (auto [at, end] = backward.range(pack); at < end; ++at) {
        piece& one = backward.pieces[at];
        one.weights_apart = weight.splits(pack);
        std::uint8_t& before = apart[one.slice.sequence.value];
        if (before != 0 && !one.weights_apart)
          return error{errc::invalid_input, "B" + std::to_string(pack) + " holds weight gradients of sequence " +
                                                std::to_string(one.slice.sequence.value) +
                                                ", those of a pack before it are in W: they would be done with in the wrong order"};
        before = one.weights_apart;
      }
    }
    return success();
  }

  static error broken(const slice& s, pass p, std::size_t pack, std::int64_t at) {
    std::string what = name_of(instruction{p, {static_cast<std::uint32_t>(pack)}, 0}, 1) + " has tokens [" +
                       std::to_string(s.begin.value) + ", " + std::to_string(s.end().value) + ") of sequence " +
                       std::to_string(s.sequence.value);
    if (at < 0) return {errc::invalid_input, what + ", which is not of this replica"};
    return {errc::out_of_order, what + (p == pass::forward ? ", where they should begin at " : ", where they should end at ") +
                                    std::to_string(at)};
  }

  /// Finds the forward piece of each backward piece: the last of its sequence that has none yet.
  void match() {
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
  result<void> follow() {
    script_walk walk(stages, chunks, ids(), forward, backward);
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
};

}  // namespace slimpack::detail

#endif
