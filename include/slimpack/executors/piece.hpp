#ifndef SLIMPACK_EXECUTORS_PIECE_HPP
#define SLIMPACK_EXECUTORS_PIECE_HPP

#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/detail/has_member.hpp>

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>

namespace slimpack {

/// A slice as a trainer's compute callback sees it.
///
/// Where samples share beginnings, its sequence is a node of their forest: `prefix` says which sequences lie above it
/// on its path, and `edges` which tokens its own tokens predict. The last token of a sequence predicts the first one of
/// each child, so at a fork it has several targets; a row of logits is then used once for each. Where the batch says no
/// targets (core/forest/forest.hpp), there are no edges, and the compute counts tokens that have a loss itself
/// (valid_tokens).
///
/// Contract with data-parallel hooks of a trainer that fire when autograd has a parameter's gradient: a step calls
/// backward many times, and each call pulls gradients of all parameters of its chunk, so such a hook must reduce in one
/// call only. last_of_chunk is true once a step, chunk and rank, on a rank without work too: on the last piece of the
/// last call of backward or, where weight gradients run apart, of weights; of a stage's share of the words, which
/// counts as one chunk more, of output_weights or embed_gradients. Arm the hooks of that chunk for this call and no
/// other. It is the event that the hook reduce_part of executors/hooks.hpp is called after; that one keeps to one order
/// of chunks on all replicas, while here, where weight gradients run apart, an earlier chunk may come before a later
/// one.
/// Requires  spans stay valid during the step
struct piece {
  slimpack::slice slice;
  tokens sequence_length;  ///< of the whole sequence, known from its first slice on
  std::uint32_t chunk{};   ///< virtual stage on this stage, 0 when there is one; one past the last in E, V, U and G
  double loss_weight{};    ///< valid tokens of the piece over valid tokens of the batch; where there are targets, its
                           ///< edges over those of the batch, each once for every sample that trains on it
  bool weights_apart{};    ///< backward leaves the weight gradients of this piece to a call of `weights`
  bool shared{};           ///< other replicas run the rest of its sequence
  tokens own_begin{};      ///< this replica's first token of the sequence, the sequence's unless it is shared
  tokens own_end{sequence_length};  ///< one past its last one, the sequence's end unless it is shared
  bool last_of_chunk{};             ///< the call whose last piece this is makes the chunk's gradients final
  bool last_of_pack{};  ///< the call whose last piece this is ends its pack: then what came in is let go, and what was
                        ///< written is sent
  tokens sequence_begin{};                    ///< how many tokens the path has before the sequence: 0 of a root
  std::span<const slimpack::slice> prefix{};  ///< the sequences above its own, whole, the root first: tokens
                                              ///< [0, sequence_begin) of the path
  std::span<const target_run> edges{};        ///< what its tokens predict: runs of its own sequence, where token t is
                                              ///< predicted by token t - 1, then first tokens of children
  std::span<const sample_end> ends{};  ///< the samples that end in it; where the batch does not say where samples end,
                                       ///< one ends with each sequence that has no children
  std::uint32_t samples{1};  ///< that have its first token at home: they pass through all of it, but for those that end
                             ///< in it. What counts tokens once a sample, as the statistics of routers do, counts those
                             ///< at home so often, and others not at all; 0 where all of its sequence is a copy
  tokens home_begin{
      sequence_begin};  ///< the sequence's first token that is at home here; those before it are copies of
                        ///< a path that another replica has at home (core/forest/forest_cut.hpp)

  [[nodiscard]] constexpr tokens sequence_end() const noexcept { return sequence_begin + sequence_length; }
  [[nodiscard]] constexpr bool is_first() const noexcept { return slice.begin == sequence_begin; }
  [[nodiscard]] constexpr bool is_last() const noexcept { return slice.end() == sequence_end(); }
  /// Whether it is the first, or the last, that this replica runs forward of its sequence.
  [[nodiscard]] constexpr bool is_own_first() const noexcept { return slice.begin == own_begin; }
  [[nodiscard]] constexpr bool is_own_last() const noexcept { return slice.end() == own_end; }
  /// What its last token attends to: the tokens of the path up to its end.
  [[nodiscard]] constexpr slimpack::slice path() const noexcept { return {slice.sequence, {0}, slice.end()}; }

  /// Reads nothing that spans point to, which goes with the step: how many there are of each is what is compared.
  friend constexpr bool operator==(const piece& a, const piece& b) noexcept {
    return a.slice == b.slice && a.sequence_length == b.sequence_length && a.chunk == b.chunk &&
           a.loss_weight == b.loss_weight && a.weights_apart == b.weights_apart && a.shared == b.shared &&
           a.own_begin == b.own_begin && a.own_end == b.own_end && a.last_of_chunk == b.last_of_chunk &&
           a.last_of_pack == b.last_of_pack && a.sequence_begin == b.sequence_begin && a.samples == b.samples &&
           a.home_begin == b.home_begin && a.prefix.size() == b.prefix.size() && a.edges.size() == b.edges.size() &&
           a.ends.size() == b.ends.size();
  }
};

namespace detail {
SLIMPACK_DETAIL_HAS_MEMBER(cuts);
}  // namespace detail

/// Where a trainer's backward may cut a sequence.
enum class backward_cuts : unsigned char {
  forward_cuts,  ///< only where its forward was cut: each backward piece is one forward piece (autograd graphs)
  any,           ///< wherever the plan says: activations can be reached by token
};

/// Where a compute's backward may cut: what its `static constexpr backward_cuts cuts` says, else at forward cuts.
template <class Compute>
[[nodiscard]] consteval backward_cuts cuts_of() {
  if constexpr (requires {
                  { Compute::cuts } -> std::same_as<const backward_cuts&>;
                  typename std::integral_constant<backward_cuts, Compute::cuts>;
                }) {
    return Compute::cuts;
  } else {
    static_assert(!detail::has_member_cuts<Compute>,
                  "a stage compute's cuts is a public static constexpr backward_cuts");
    return backward_cuts::forward_cuts;
  }
}

}  // namespace slimpack

#endif
