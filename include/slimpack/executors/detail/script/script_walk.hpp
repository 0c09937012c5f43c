#ifndef SLIMPACK_EXECUTORS_DETAIL_SCRIPT_SCRIPT_WALK_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SCRIPT_SCRIPT_WALK_HPP

#include <slimpack/core/order/releases.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/detail/piece_list.hpp>
#include <slimpack/executors/piece.hpp>

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// A walk through one stage's program, instruction by instruction: counts what is live.
class script_walk {
 public:
  /// sequences: those of the replica            Requires  lists that outlive it
  script_walk(std::size_t chunks, std::span<const sequence> sequences, const piece_list& forward,
              const piece_list& backward)
      : forward_(forward), backward_(backward) {
    std::size_t ids = 0;
    for (const sequence& s : sequences) ids = std::max(ids, std::size_t{s.id.value} + 1);
    chunks_.resize(chunks, {std::vector<open_sequence>(ids), std::vector<std::int64_t>(forward.ends.size()),
                            ended_sequences(backward.ends.empty() ? sequences : std::span<const sequence>{})});
  }

  /// Runs the next instruction.            Requires  that it is the next of a sound program
  void take(const instruction& i) {
    if (i.is_weights()) live_ -= backward_.size[i.pack.value].value;
    if (!i.is_pass()) return;
    i.pass() == pass::forward ? open(i) : close(i);
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
    std::vector<open_sequence> open;  // per sequence
    std::vector<std::int64_t> live;   // tokens, per forward pack
    ended_sequences ended;            // where nothing runs backward
  };

  /// A forward pack's tokens become live.
  void open(const instruction& i) {
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
        if (forward_.pieces[at].is_own_last())
          c.ended.end(forward_.pieces[at].slice.sequence, [&](sequence_id s) { let_go(c, c.open[s.value]); });
  }

  /// Where nothing runs backward, a sequence is let go of after its last forward, and that of all its descendants.
  void let_go(chunk_state& c, open_sequence& ended) {
    for (const auto& [pack, size] : ended.packs) {
      c.live[pack] -= size;
      if (c.live[pack] == 0) --in_flight_;
    }
    live_ -= std::exchange(ended.live, 0);
    ended.packs.clear();
  }

  /// A backward pack takes each sequence from its end, and lets go of the forward packs that held these tokens.
  void close(const instruction& i) {
    chunk_state& c = chunks_[i.chunk];
    for (auto [at, end] = backward_.range(i.pack.value); at < end; ++at) {
      const piece& one = backward_.pieces[at];
      open_sequence& open = c.open[one.slice.sequence.value];
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
  }

  const piece_list& forward_;
  const piece_list& backward_;
  std::vector<chunk_state> chunks_;
  std::int64_t live_{};  // tokens, of all chunks
  std::int64_t peak_{};
  std::size_t in_flight_{};  // forward packs that hold live tokens
  std::size_t most_in_flight_{};
};

}  // namespace slimpack::detail

#endif
