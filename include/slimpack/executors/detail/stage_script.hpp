#ifndef SLIMPACK_EXECUTORS_DETAIL_STAGE_SCRIPT_HPP
#define SLIMPACK_EXECUTORS_DETAIL_STAGE_SCRIPT_HPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/detail/flow.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/executors/backward_cuts.hpp>
#include <slimpack/executors/detail/piece_list.hpp>
#include <slimpack/executors/detail/plan_check.hpp>
#include <slimpack/executors/detail/script_walk.hpp>
#include <slimpack/executors/detail/shared/shared_sequences.hpp>
#include <slimpack/executors/detail/transfer_script.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/executors/step_outline.hpp>
#include <slimpack/pricing/detail/forward_alone.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/transports/traffic.hpp>

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// One end of a message: a rank and a channel.
struct message_end {
  int rank{};
  int channel{};
};

/// What a message has for a token (executors/message_format.hpp).
enum class message_content : std::uint8_t {
  hidden,      ///< a hidden row or its gradient, an embedded row or its gradient
  partial,     ///< of the output layer, over the words of a stage
  statistics,  ///< of the output layer, over all words
};
inline constexpr std::size_t message_contents = 3;

/// What one stage does in a step, checked before anything runs: its pieces, whom it hears and tells, how much is live.
/// Packs travel from part to part of the model, and where its vocabulary is spread over the stages, from stage to stage at
/// its ends; the channel of a message is that of the place that it goes to, so that messages on a channel from one rank come in
/// run order whatever order a stage gives its chunks.
class stage_script {
 public:
  int replica{};
  int stage{};
  shape on;
  program code;
  piece_list forward;
  piece_list backward;                    // empty of a step that is forward only
  std::vector<std::uint32_t> forward_of;  // per backward piece, its forward piece; empty under backward_cuts::any
  std::vector<sequence> sequences;
  shared_sequences shared;
  transfer_script transfers;
  step_outline outline;                   // valid_tokens is left to the runtime

  /// The passes that the step runs.
  [[nodiscard]] std::span<const pass> passes() const noexcept { return std::span(both_passes).first(outline.forward_only ? 1 : 2); }
  [[nodiscard]] piece_list& of(pass p) noexcept { return p == pass::forward ? forward : backward; }
  [[nodiscard]] const piece_list& of(pass p) const noexcept { return p == pass::forward ? forward : backward; }

  /// One past the largest id of its sequences.
  [[nodiscard]] std::size_t ids() const noexcept {
    std::size_t most = 0;
    for (const sequence& s : sequences) most = std::max(most, std::size_t{s.id.value} + 1);
    return most;
  }

  using message_ends = boost::container::small_vector<message_end, 4>;
  /// Of each message that it waits for, in order of the stages that they come from.
  [[nodiscard]] message_ends sources(const instruction& i) const {
    message_ends all;
    if (!i.is_weights()) each_before(place(i), on, [&](flow_place from) { all.push_back({rank_of(from), channel(place(i))}); });
    return all;
  }
  /// Of each message that it sends, in order of the stages that they go to. All have one content.
  [[nodiscard]] message_ends targets(const instruction& i) const {
    message_ends all;
    if (!i.is_weights()) each_after(place(i), on, [&](flow_place to) { all.push_back({rank_of(to), channel(to)}); });
    return all;
  }

  [[nodiscard]] bool spreads_vocabulary() const noexcept { return on.vocabulary == vocabulary::spread; }
  /// Whether the instruction puts the parts of all stages together: V on the last stage. It reads the hidden rows of this stage's
  /// F, and makes gradients of hidden rows, which wait on this stage for the B that takes them.
  [[nodiscard]] bool gathers(const instruction& i) const {
    return spreads_vocabulary() && flow_of(i) == flow::output && stage + 1 == on.stages;
  }
  /// Whether it is the F whose hidden rows this stage's V reads.
  [[nodiscard]] bool gives_hidden_rows(const instruction& i) const { return is_on_last_part(i) && i.pass == pass::forward; }
  /// Whether it is a B that takes gradients of hidden rows.
  [[nodiscard]] bool takes_gradients(const instruction& i) const { return is_on_last_part(i) && i.pass == pass::backward; }
  /// Whether it is a U that reads the statistics of this stage's V.
  [[nodiscard]] bool takes_statistics(const instruction& i) const {
    return spreads_vocabulary() && flow_of(i) == flow::output_weights && stage + 1 == on.stages;
  }

  /// What its messages in have for a token.
  [[nodiscard]] message_content content_in(const instruction& i) const {
    if (flow_of(i) == flow::output_weights) return message_content::statistics;
    return gathers(i) ? message_content::partial : message_content::hidden;
  }
  /// What its call writes for a token: V on the last stage partial rows as on any other, though they go nowhere.
  [[nodiscard]] message_content content_out(const instruction& i) const {
    return flow_of(i) == flow::output ? message_content::partial : message_content::hidden;
  }

  /// The number by which chunks are told apart, in pieces and reductions: a spread vocabulary counts as one chunk more.
  [[nodiscard]] std::uint32_t chunk_of(const instruction& i) const noexcept {
    return i.end == model_end::none ? i.chunk : static_cast<std::uint32_t>(on.chunks);
  }
  /// Chunks, with that of a spread vocabulary.
  [[nodiscard]] int reduced_chunks() const noexcept { return on.chunks + (spreads_vocabulary() ? 1 : 0); }

  /// The channel on which ranks that share rows send them to each other.
  [[nodiscard]] int row_channel() const noexcept { return channel_of(traffic::exchanges, 0); }

  /// The two channels on which copies of a stage add up gradients beside the program.
  [[nodiscard]] std::array<int, 2> sums_channels() const noexcept {
    return {channel_of(traffic::collectives, 1), channel_of(traffic::collectives, 2)};
  }

  /// The last instruction that adds to the gradients of each chunk, that of a spread vocabulary last; none of a step that is
  /// forward only: one past its end.
  [[nodiscard]] std::vector<std::size_t> last_of_chunks() const {
    std::vector<std::size_t> last(static_cast<std::size_t>(reduced_chunks()), code.size());
    for (std::size_t at = 0; at < code.size(); ++at)
      if (code[at].pass == pass::backward || code[at].weights_only) last[chunk_of(code[at])] = at;
    return last;
  }

  /// A chunk, and the instruction after which its gradients are reduced.
  struct final_gradients {
    std::uint32_t chunk{};
    std::size_t after{};
  };
  /// Of all chunks in the order of their reductions: last chunk first, a spread vocabulary at the end. A chunk whose
  /// gradients are final before those of one that it follows waits for these, so that all copies of the stage have one order.
  [[nodiscard]] std::vector<final_gradients> gradients_final() const {
    const std::vector<std::size_t> last = last_of_chunks();
    std::vector<final_gradients> order;
    const auto add = [&](int chunk) {
      const std::size_t own = last[static_cast<std::size_t>(chunk)];
      order.push_back({static_cast<std::uint32_t>(chunk), order.empty() ? own : std::max(own, order.back().after)});
    };
    for (int chunk = on.chunks; chunk-- > 0;) add(chunk);
    if (spreads_vocabulary()) add(on.chunks);
    return order;
  }

  /// Whether sums over the copies of a stage can be issued as soon as gradients are final (gradients_final), between the transfers of
  /// a step, whose order each replica has for itself: whether they cannot wait for each other, even if a rank runs one thing at a time.
  /// Source    derived. Backward runs packs in one order on all parts, so gradients of part b are final before those of part
  ///           b - 1, and all transfers up to the message that says so stand before it in a replica's order. So a sum of part b
  ///           waits, through a replica's transfers, for sums of later parts alone: waiting goes one way through the parts, and
  ///           never round. Weight gradients apart, and those of a spread vocabulary, are final in any order. Of replicas that
  ///           share a sequence, one may be done with a part before it exchanges rows of an earlier one, which another does before
  ///           it is done with that part; on one chunk no transfer of a rank comes after its sum
  /// splits    whether the compute may run weight gradients apart, on any replica; shares: whether replicas share sequences
  [[nodiscard]] bool sums_have_place(bool splits, bool shares) const noexcept {
    return !splits && !spreads_vocabulary() && !(shares && on.chunks > 1);
  }

  /// shares: how the compute can run sequences that replicas share; is_part: whether the plan is the part of a group
  /// (rank_plan), so that other replicas run what it leaves out; forward_only: whether a step runs no backward of the plan
  /// Errors    invalid_input: a rank or a replica that the plan has not; slices that do not tile their sequences; shared
  ///           sequences where the compute can run none
  ///           out_of_order: a program that runs a pack twice, never, or backward before what it needs
  ///           cyclic_schedule: programs that wait for each other, so that their transfers have no order
  static result<stage_script> of(const plan& p, int rank, backward_cuts cuts, exchange_set shares, bool is_part = false,
                                 bool forward_only = false) {
    if (std::min({p.shape.stages, p.shape.replicas, p.shape.chunks}) < 1 || rank < 0 ||
        rank / p.shape.stages >= p.shape.replicas)
      return error{errc::invalid_input, "the plan has no rank " + std::to_string(rank)};
    if (p.shape.quantum < tokens{1})
      return error{errc::invalid_input, "the plan has a quantum of " + std::to_string(p.shape.quantum.value) + " tokens"};
    if (p.shape.vocabulary == vocabulary::spread && p.shape.stages < 2)
      return error{errc::invalid_input, "the plan spreads the vocabulary over one stage: it needs 2 or more, or vocabulary::last"};
    stage_script s;
    s.on = p.shape;
    s.replica = rank / p.shape.stages;
    s.stage = rank % p.shape.stages;
    if (result<void> whole = plan_check::is_whole(p, shares, is_part); !whole) return std::move(whole).error();
    if (is_forward_only(p) && !forward_only)
      return error{errc::invalid_input, "the plan runs forward packs alone (plan_forward): run it by evaluate"};
    if (forward_only && p.shape.vocabulary == vocabulary::spread)
      return error{errc::invalid_input, "the plan spreads the vocabulary over the stages, whose calls run both passes: evaluate plans "
                                        "with shape.vocabulary = vocabulary::last"};
    s.outline.forward_only = forward_only;
    const bool drops = forward_only && !is_forward_only(p);
    if (result<void> made = drops ? s.read(forward_alone(p, cuts != backward_cuts::any), cuts) : s.read(p, cuts); !made) return std::move(made).error();
    return s;
  }

 private:
  /// Lists what this stage runs of a plan that is_whole.
  result<void> read(const plan& p, backward_cuts cuts) {
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
      if (result<void> apart = split(own.weight); !apart) return apart;
    }
    if (result<void> sound = follow(); !sound) return sound;
    result<transfer_script> ordered = outline.idle ? transfer_script::idle(code, own_replica, own_stage, p.shape)
                                                   : transfer_script::of(p, own_replica, own_stage);
    if (!ordered) return std::move(ordered).error();
    transfers = std::move(ordered).value();
    return success();
  }

  [[nodiscard]] flow_place place(const instruction& i) const { return place_of(i, static_cast<std::uint32_t>(stage), on); }
  [[nodiscard]] int rank_of(flow_place p) const { return replica * on.stages + static_cast<int>(stage_of(p, on)); }
  /// Of messages to a place.
  [[nodiscard]] int channel(flow_place p) const {
    if (!is_of_layers(p.flow)) return channel_of(traffic::exchanges, 1 + static_cast<int>(p.flow) - static_cast<int>(flow::embedding));
    return channel_of(p.flow == flow::forward ? traffic::forward : traffic::backward, static_cast<int>(p.at) / on.stages);
  }
  /// Of a spread vocabulary.
  [[nodiscard]] bool is_on_last_part(const instruction& i) const {
    return spreads_vocabulary() && i.is_pass() && place(i).at + 1 == static_cast<std::uint32_t>(on.parts());
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
    for (const pass way : passes()) {
      piece_list& list = of(way);
      list.pieces.push_back({{id, {0}, length}, length, 0, 0});
      list.held.push_back(length.value);
      list.ends.push_back(1);
      list.size.push_back(length);
    }
    if (!outline.forward_only) forward_of.push_back(0);
    // Each flow after the one that it follows on all stages, so that no transfer waits for one behind it.
    const auto end = [&](flow f) {
      if (spreads_vocabulary()) code.push_back(instruction_at({f, static_cast<std::uint32_t>(stage)}, {0}, on));
    };
    end(flow::embedding);
    for (std::uint32_t chunk = 0; chunk < static_cast<std::uint32_t>(on.chunks); ++chunk)
      code.push_back({pass::forward, {0}, chunk});
    if (outline.forward_only) return;
    end(flow::output);
    end(flow::output_weights);
    for (auto chunk = static_cast<std::uint32_t>(on.chunks); chunk-- > 0;) code.push_back({pass::backward, {0}, chunk});
    end(flow::embedding_gradients);
  }

  /// Lists the pieces of both passes. Slices must run in order forward and in reverse order backward.
  result<void> list(const partition& packs, std::span<const tokens> lengths) {
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
};

}  // namespace slimpack::detail

#endif
