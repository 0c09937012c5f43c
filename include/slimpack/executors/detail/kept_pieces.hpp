#ifndef SLIMPACK_EXECUTORS_DETAIL_KEPT_PIECES_HPP
#define SLIMPACK_EXECUTORS_DETAIL_KEPT_PIECES_HPP

#include <slimpack/concepts/running.hpp>
#include <slimpack/core/order/releases.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/hooks.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::detail {

struct no_state {};

template <class Compute>
struct state_of {
  using type = no_state;
};
template <class Compute>
requires requires { typename Compute::state; }
struct state_of<Compute> {
  using type = typename Compute::state;
};

/// What forwards of a stage leave until their backward, by chunk and piece: the states of a compute that has them, and
/// what of one that keeps its own has to be discarded where a step fails, or evaluates.
template <class Compute>
class kept_pieces {
 public:
  using state = typename state_of<Compute>::type;
  static constexpr bool has_state = !std::is_same_v<state, no_state>;
  static constexpr bool by_piece = computes_pieces<Compute> || computes_own_pieces<Compute>;

  kept_pieces(Compute& compute, const stage_script& script)
      : compute_(&compute), script_(&script), chunks_(static_cast<std::size_t>(script.on.chunks)) {
    const bool evaluates = script.outline.forward_only;
    for (chunk_state& c : chunks_) {
      if (evaluates) c.ended = ended_sequences(script.sequences);
      if constexpr (any_cuts) {
        c.live.resize(script.ids());
      } else {
        c.held.resize(script.forward.pieces.size());
        if constexpr (has_state) c.states.resize(script.forward.pieces.size());
      }
    }
    if (any_cuts || !evaluates) return;
    pieces_of_.resize(script.ids());
    for (std::uint32_t at = 0; at < script.forward.pieces.size(); ++at)
      pieces_of_[script.forward.pieces[at].slice.sequence.value].push_back(at);
  }

  /// at: place of a forward piece among all
  void keep(const piece& one, std::size_t at) {
    chunk_state& c = chunks_[one.chunk];
    if constexpr (any_cuts)
      c.live[one.slice.sequence.value] = up_to(one, one.slice.end());
    else
      c.held[at] = 1;
  }
  void keep(const piece& one, std::size_t at, state&& made) requires(has_state) {
    if constexpr (by_piece)
      chunks_[one.chunk].states[at].emplace(std::move(made));
    else
      chunks_[one.chunk].states[at] = std::move(made);
    keep(one, at);
  }

  /// at: place of a backward piece among all
  void give_back(const piece& one, std::size_t at) {
    if (!one.weights_apart) release(one, at);
  }
  void release(const piece& one, std::size_t at) {
    chunk_state& c = chunks_[one.chunk];
    if constexpr (any_cuts)
      c.live[one.slice.sequence.value] = one.is_own_first() ? piece{} : up_to(one, one.slice.begin);
    else
      c.held[script_->forward_of[at]] = 0;
  }

  /// The state of a backward piece.
  [[nodiscard]] state take(const piece& one, std::size_t at) requires(has_state) {
    return taken(chunks_[one.chunk].states[script_->forward_of[at]]);
  }
  /// Those of neighbouring ones, the first of which is at `first`.
  [[nodiscard]] std::vector<state> take(std::span<const piece> pieces, std::size_t first) requires(has_state) {
    std::vector<state> states;
    states.reserve(pieces.size());
    for (std::size_t k = 0; k < pieces.size(); ++k) states.push_back(take(pieces[k], first + k));
    return states;
  }
  /// Where those of a forward pack will be.
  [[nodiscard]] std::span<state> states(std::span<const piece> pack,
                                        std::size_t first) requires(has_state && !by_piece) {
    return std::span(chunks_[pack[0].chunk].states).subspan(first, pack.size());
  }

  /// Gives back all, the last first, chunk by chunk.
  void discard_all() {
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      if constexpr (any_cuts)
        for (const sequence& s : script_->sequences) discard(s.id, static_cast<std::uint32_t>(chunk));
      else
        for (std::size_t at = chunks_[chunk].held.size(); at-- > 0;) discard(at, static_cast<std::uint32_t>(chunk));
    }
  }
  /// Where nothing runs backward: all of a sequence that ends on a chunk, the last first, once its descendants have
  /// ended, too; and then that of those above it.
  void let_go(const piece& last) {
    chunks_[last.chunk].ended.end(last.slice.sequence, [&](sequence_id s) {
      if constexpr (any_cuts) {
        discard(s, last.chunk);
      } else {
        const std::vector<std::uint32_t>& own = pieces_of_[s.value];
        for (auto at = own.rbegin(); at != own.rend(); ++at) discard(*at, last.chunk);
      }
    });
  }

 private:
  static constexpr bool any_cuts = cuts_of<Compute>() == backward_cuts::any;
  // A pack's states are handed over as one span, so they cannot sit in optionals.
  using slot = std::conditional_t<by_piece, std::optional<state>, state>;

  struct chunk_state {
    std::vector<piece> live;         // any cuts: per sequence, its tokens that wait for their backward
    std::vector<std::uint8_t> held;  // else: per forward piece, whether it waits
    std::vector<slot> states;        // per forward piece
    ended_sequences ended{{}};       // where nothing runs backward
  };

  static state taken(slot& s) {
    if constexpr (by_piece)
      return std::move(*std::exchange(s, std::nullopt));
    else
      return std::exchange(s, state{});
  }

  /// A piece's sequence up to a place.
  [[nodiscard]] static piece up_to(const piece& one, tokens end) {
    return {.slice = {one.slice.sequence, one.sequence_begin, end - one.sequence_begin},
            .sequence_length = one.sequence_length,
            .chunk = one.chunk,
            .own_begin = one.sequence_begin,
            .own_end = one.sequence_end(),
            .sequence_begin = one.sequence_begin,
            .prefix = one.prefix};
  }
  /// What a sequence has on a chunk, if anything.
  void discard(sequence_id s, std::uint32_t chunk) requires(any_cuts) {
    const piece live = std::exchange(chunks_[chunk].live[s.value], piece{});
    if (live.slice.length != tokens{}) compute_->discard(live);
  }
  /// What a forward piece has on a chunk, if anything.
  void discard(std::size_t at, std::uint32_t chunk) requires(!any_cuts) {
    chunk_state& c = chunks_[chunk];
    if (!std::exchange(c.held[at], std::uint8_t{0})) return;
    piece one = script_->forward.pieces[at];
    one.chunk = chunk;
    if constexpr (has_state)
      compute_->discard(one, taken(c.states[at]));
    else
      compute_->discard(one);
  }

  Compute* compute_;
  const stage_script* script_;
  std::vector<chunk_state> chunks_;
  std::vector<std::vector<std::uint32_t>> pieces_of_;  // where no backward comes and cuts are forward's: by sequence
};

}  // namespace slimpack::detail

#endif
