#ifndef SLIMPACK_EXECUTORS_PIECE_HPP
#define SLIMPACK_EXECUTORS_PIECE_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/detail/has_member.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace slimpack {

/// A slice as a trainer's compute callback sees it.
///
/// Contract with data-parallel hooks of a trainer that fire when autograd has a parameter's gradient: a step calls
/// backward many times, and each call pulls gradients of all parameters of its chunk, so such a hook must reduce in one
/// call only. last_of_chunk is true once a step, chunk and rank, on a rank without work too: on the last piece of the
/// last call of backward or, where weight gradients run apart, of weights; of a stage's share of the words, which
/// counts as one chunk more, of output_weights or embed_gradients. Arm the hooks of that chunk for this call and no
/// other. It is the event that the hook reduce_part of executors/hooks.hpp is called after; that one keeps to one order
/// of chunks on all replicas, while here, where weight gradients run apart, an earlier chunk may come before a later
/// one.
struct piece {
  slimpack::slice slice;
  tokens sequence_length;  ///< of the whole sequence, known from its first slice on
  std::uint32_t chunk{};   ///< virtual stage on this stage, 0 when there is one; one past the last in E, V, U and G
  double loss_weight{};    ///< valid tokens of the piece over valid tokens of the batch
  bool weights_apart{};    ///< backward leaves the weight gradients of this piece to a call of `weights`
  bool shared{};           ///< other replicas run the rest of its sequence
  tokens own_begin{};      ///< this replica's first token of the sequence, 0 unless it is shared
  tokens own_end{sequence_length};  ///< one past its last one, the sequence's length unless it is shared
  bool last_of_chunk{};             ///< the call whose last piece this is makes the chunk's gradients final
  bool last_of_pack{};  ///< the call whose last piece this is ends its pack: then what came in is let go, and what was
                        ///< written is sent

  [[nodiscard]] constexpr bool is_first() const noexcept { return slice.begin == tokens{}; }
  [[nodiscard]] constexpr bool is_last() const noexcept { return slice.end() == sequence_length; }
  /// Whether it is the first, or the last, that this replica runs forward of its sequence.
  [[nodiscard]] constexpr bool is_own_first() const noexcept { return slice.begin == own_begin; }
  [[nodiscard]] constexpr bool is_own_last() const noexcept { return slice.end() == own_end; }
  friend constexpr bool operator==(const piece&, const piece&) = default;
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
