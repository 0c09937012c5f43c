#ifndef SLIMPACK_EXECUTORS_DETAIL_SCRIPT_SCRIPT_WALK_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SCRIPT_SCRIPT_WALK_HPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/executors/detail/piece_list.hpp>
#include <slimpack/executors/piece.hpp>

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// A walk through one stage's program, instruction by instruction: checks their order, and counts what is live.
class script_walk {
 public:
  /// ids: one past the largest id of a sequence            Requires  lists that outlive it
  script_walk(const shape& on, int stage, std::size_t ids, const piece_list& forward, const piece_list& backward)
      : on_(on),
        wires_(on),
        stage_(static_cast<std::uint32_t>(stage)),
        is_last_(stage + 1 == on.stages),
        forward_(forward),
        backward_(backward),
        chunks_(static_cast<std::size_t>(on.chunks)),
        calls_(wires_.size()),
        turned_(ids) {
    for (chunk_state& c : chunks_) {
      c.open.resize(ids);
      c.live.resize(forward.ends.size());
      c.next_weights = backward.apart.next(0);
    }
  }

  /// Runs the next instruction.
  /// Errors    out_of_order: it may not stand here
  result<void> take(const instruction& i) {
    if (i.chunk >= chunks_.size()) return wrong(i, "is of a chunk that the plan has not");
    if (i.is_weights()) return take_weights(i);
    if (!i.is_pass()) return take_call(i);
    if (result<void> next = take_pack(i); !next) return next;
    return i.pass() == pass::forward ? open(i) : close(i);
  }

  /// Whether all has run by now.
  /// Errors    out_of_order: something is left
  [[nodiscard]] result<void> ended() const {
    for (std::uint32_t c = 0; c < chunks_.size(); ++c)
      if (chunks_[c].next_weights != backward_.apart.flags.size())
        return left({instruction_kind::weights, {static_cast<std::uint32_t>(chunks_[c].next_weights)}, c});
    for (std::uint32_t c = 0; c < chunks_.size(); ++c)
      for (const pass p : {pass::forward, pass::backward})
        if (chunks_[c].packs[p] != of(p).ends.size()) return left({pass_kind(p), {chunks_[c].packs[p]}, c});
    for (std::size_t k = 0; k < instruction_kinds.size(); ++k) {
      const auto kind = static_cast<instruction_kind>(k);
      if (kind <= instruction_kind::weights) continue;  // asked above
      for (pack_place place{kind, stage_}; wires_.has(place); place.at += static_cast<std::uint32_t>(on_.stages))
        if (ran(place) != of(facts_of(kind).pass).ends.size()) return left(instruction_at(place, {ran(place)}, on_));
    }
    return success();
  }

  [[nodiscard]] std::size_t most_packs_in_flight() const noexcept { return most_in_flight_; }
  /// Those of a chunk count as their share of a stage.
  [[nodiscard]] tokens most_tokens_in_flight() const noexcept {
    const auto chunks = static_cast<std::int64_t>(chunks_.size());
    return {(peak_ + chunks - 1) / chunks};
  }

 private:
  struct open_sequence {
    // Forward pack, its live tokens of the sequence.
    boost::container::small_vector<std::pair<std::uint32_t, std::int64_t>, few_pieces> packs;
    std::int64_t live{};
  };
  struct chunk_state {
    by_pass<std::uint32_t> packs;     // that have run
    std::size_t next_weights{};       // the pack whose weight gradients are next
    std::vector<open_sequence> open;  // per sequence
    std::vector<std::int64_t> live;   // tokens, per forward pack
  };

  [[nodiscard]] const piece_list& of(pass p) const noexcept { return p == pass::forward ? forward_ : backward_; }
  [[nodiscard]] bool spreads() const noexcept { return has(on_, instruction_kind::output); }
  /// Packs that have run at a place of this stage, which is not W's.
  [[nodiscard]] std::uint32_t ran(pack_place place) const {
    if (place.kind > instruction_kind::weights) return calls_[wires_.number_of(place)];
    return chunks_[instruction_at(place, {}, on_).chunk].packs[facts_of(place.kind).pass];
  }

  [[nodiscard]] error wrong(const instruction& i, const std::string& why) const {
    return {errc::out_of_order, name_of(i, static_cast<int>(chunks_.size())) + ' ' + why};
  }
  [[nodiscard]] error left(const instruction& i) const {
    return {errc::out_of_order, "the program ends before " + name_of(i, static_cast<int>(chunks_.size()))};
  }

  /// What is neither F, B nor W runs in run order, after what it waits for on this stage (core/wiring/wiring.hpp). What
  /// else it waits for comes in messages.
  result<void> take_call(const instruction& i) {
    if (!has(on_, i.kind)) return wrong(i, is_not_of_shape);
    if (!has(on_, i)) return wrong(i, "is of a chunk that the plan has not");
    const pack_place place = place_of(i, stage_, on_);
    std::uint32_t& next = calls_[wires_.number_of(place)];
    const std::size_t packs = of(i.pass()).ends.size();
    if (i.pack.value != next || next >= packs)
      return wrong(i, "stands where pack " + std::to_string(next) + " of " + std::to_string(packs) + " comes next");
    if (const std::optional<pack_place>& own = wires_.awaited_by(place); own && next >= ran(*own))
      return wrong(i, std::string("would run before its ") + facts_of(own->kind).letter);
    ++next;
    if (i.kind == instruction_kind::output && is_last_)
      for (auto [at, end] = forward_.range(i.pack.value); at < end; ++at)
        turned_[forward_.pieces[at].slice.sequence.value] += forward_.pieces[at].slice.length.value;
    return success();
  }

  /// Weight gradients come after their backward, pack by pack; then its tokens are no longer live.
  result<void> take_weights(const instruction& i) {
    chunk_state& c = chunks_[i.chunk];
    if (i.pass() == pass::forward || i.pack.value >= c.packs.backward) return wrong(i, "would run before its backward");
    if (i.pack.value != c.next_weights || !backward_.apart.splits(i.pack.value))
      return wrong(i, "stands where W" + std::to_string(c.next_weights) + " comes next");
    c.next_weights = backward_.apart.next(c.next_weights + 1);
    live_ -= backward_.size[i.pack.value].value;
    return success();
  }

  /// Packs run in run order; and where one stage has all chunks, each after the chunk that it follows.
  result<void> take_pack(const instruction& i) {
    chunk_state& c = chunks_[i.chunk];
    const std::uint32_t next = c.packs[i.pass()];
    if (i.pack.value != next || next >= of(i.pass()).ends.size())
      return wrong(i, "stands where pack " + std::to_string(next) + " of " + std::to_string(of(i.pass()).ends.size()) +
                          " comes next");
    const auto first = static_cast<std::uint32_t>(nth_place(i.pass(), std::size_t{0}, chunks_.size()));
    if (on_.stages == 1 && i.chunk != first &&
        chunks_[i.pass() == pass::forward ? i.chunk - 1 : i.chunk + 1].packs[i.pass()] <= next)
      return wrong(i, "would run before the chunk that it follows");
    ++c.packs[i.pass()];
    return success();
  }

  /// A forward pack's tokens become live.
  result<void> open(const instruction& i) {
    chunk_state& c = chunks_[i.chunk];
    for (auto [at, end] = forward_.range(i.pack.value); at < end; ++at) {
      const slice& s = forward_.pieces[at].slice;
      open_sequence& open = c.open[s.sequence.value];
      open.packs.push_back({i.pack.value, s.length.value});
      open.live += s.length.value;
      if (c.live[i.pack.value] == 0) ++in_flight_;
      c.live[i.pack.value] += s.length.value;
      live_ += s.length.value;
    }
    peak_ = std::max(peak_, live_);
    most_in_flight_ = std::max(most_in_flight_, in_flight_);
    if (backward_.ends.empty())
      for (auto [at, end] = forward_.range(i.pack.value); at < end; ++at)
        if (forward_.pieces[at].is_own_last()) let_go(c, c.open[forward_.pieces[at].slice.sequence.value]);
    return success();
  }

  /// Where nothing runs backward, a sequence is let go of after its last forward.
  void let_go(chunk_state& c, open_sequence& ended) {
    for (const auto& [pack, size] : ended.packs) {
      c.live[pack] -= size;
      if (c.live[pack] == 0) --in_flight_;
    }
    live_ -= std::exchange(ended.live, 0);
    ended.packs.clear();
  }

  /// A backward pack takes each sequence from its end, and lets go of the forward packs that held these tokens.
  result<void> close(const instruction& i) {
    chunk_state& c = chunks_[i.chunk];
    for (auto [at, end] = backward_.range(i.pack.value); at < end; ++at) {
      const piece& one = backward_.pieces[at];
      open_sequence& open = c.open[one.slice.sequence.value];
      if (open.live != backward_.held[at])
        return wrong(i, (one.is_own_last() ? "would run before the forward of sequence "
                                           : "would run before later tokens of sequence ") +
                            std::to_string(one.slice.sequence.value) + (one.is_own_last() ? " has ended" : ""));
      if (spreads() && is_last_ && i.chunk + 1 == chunks_.size()) {
        std::int64_t& turned = turned_[one.slice.sequence.value];
        if (turned != backward_.held[at])
          return wrong(i, "would run before the output layer (V) of sequence " +
                              std::to_string(one.slice.sequence.value) + " has ended");
        turned -= one.slice.length.value;
      }
      open.live -= one.slice.length.value;
      for (std::int64_t left = one.slice.length.value; left > 0;) {
        auto& [pack, tokens_left] = open.packs.back();
        const std::int64_t n = std::min(left, tokens_left);
        left -= n, tokens_left -= n, c.live[pack] -= n;
        if (c.live[pack] == 0) --in_flight_;
        if (tokens_left == 0) open.packs.pop_back();
      }
    }
    if (!backward_.apart.splits(i.pack.value)) live_ -= backward_.size[i.pack.value].value;
    return success();
  }

  shape on_;
  wiring wires_;
  std::uint32_t stage_;
  bool is_last_;  // stage
  const piece_list& forward_;
  const piece_list& backward_;
  std::vector<chunk_state> chunks_;
  std::vector<std::uint32_t> calls_;  // neither F, B nor W: packs that have run, by place
  std::vector<std::int64_t> turned_;  // on the last stage, per sequence: tokens between V and the last part's B
  std::int64_t live_{};               // tokens, of all chunks
  std::int64_t peak_{};
  std::size_t in_flight_{};  // forward packs that hold live tokens
  std::size_t most_in_flight_{};
};

}  // namespace slimpack::detail

#endif
