#ifndef SLIMPACK_CORE_MERGE_HPP
#define SLIMPACK_CORE_MERGE_HPP

#include <slimpack/core/relays/legs.hpp>
#include <slimpack/core/slice.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace slimpack {

/// How replicas that share a sequence get what their tokens attend to on the others, in every layer of every row.
///
///   keep     each sends the keys and values of its tokens once, and keeps those of the others until it has run these
///            tokens backward; then it sends back their gradients. The fewest bytes, and the most memory
///   queries  queries go to where the keys are; outputs come back and are merged. Nobody keeps anything of the others
///   ring     keys and values go round the sharers and are dropped; backward again, with their gradients. Nobody keeps
///            anything of the others. For a sequence of one row in either pass: others would send all that lies before
///            a row with every row
///
/// Source    keep: derived, as all-gathered context parallelism whose gathered part stays; queries: Yang et al.
///           (arXiv:2411.01783); ring: ring attention (arXiv:2310.01889)
enum class exchange : std::uint8_t { keep, queries, ring };

[[nodiscard]] constexpr std::string_view name_of(exchange e) noexcept {
  return e == exchange::keep ? "keep" : e == exchange::queries ? "queries" : "ring";
}

/// A sequence that several replicas share (DP-Merge): for its slices alone they form one context-parallel group.
/// A row is a run of its tokens, of which each sharer runs its own slices in a pack of its own. On each stage the packs
/// of a row start together, when the last of them is ready, and end together with the longest; a row starts when the
/// one before has ended. A sharer may have none of a row's tokens, where keys and values are kept: what it needs of
/// them it gets meanwhile, and has it with its next own row; backward it owes their gradients with its own row before.
/// Shapes    forward, backward: one entry per row in run order; a row has the pack of each of `replicas`, or `none`
/// Law       rows run through the sequence like slices: front to back, backward back to front; a token runs backward on
///           the replica that ran it forward; testing/plan_laws.hpp checks them
/// Source    SlimPack (arXiv:2509.26246), DP-Merge; rows and their joint run are derived
struct merge {
  static constexpr pack_id none{std::numeric_limits<std::uint32_t>::max()};  ///< of a sharer without tokens of a row

  sequence_id sequence;
  std::vector<std::uint32_t> replicas;  ///< ascending, at least two
  std::vector<std::vector<pack_id>> forward;
  std::vector<std::vector<pack_id>> backward;
  slimpack::exchange exchange{slimpack::exchange::keep};
  std::vector<relay> relays{};  ///< of rows that go round, where they cross from node to node; others cross in one leg

  [[nodiscard]] std::vector<std::vector<pack_id>>& of(pass p) noexcept {
    return p == pass::forward ? forward : backward;
  }
  [[nodiscard]] const std::vector<std::vector<pack_id>>& of(pass p) const noexcept {
    return p == pass::forward ? forward : backward;
  }
  /// The transfers of rows that cross from node to node over other sharers, in the one order in which sharers post
  /// them.            Complexity O(legs)
  [[nodiscard]] std::vector<leg> legs() const { return legs_in_order(relays); }
  friend bool operator==(const merge&, const merge&) = default;
};

/// A row of a merge as one of its replicas sees it: what a cost model is asked about.
struct shared_row {
  sequence_id sequence;
  slimpack::pass pass{};
  pack_id pack;                            ///< that holds this replica's slices
  tokens end;                              ///< of the row: keys and values of [0, end) are attended to
  std::span<const std::uint32_t> sharers;  ///< replicas, ascending
  tokens begin{};                          ///< of the row
  slimpack::exchange exchange{slimpack::exchange::keep};
  // Where keys and values are kept (exchange::keep); else 0.
  tokens others{};  ///< of the row, run by other sharers, that come before a token of this replica's: it keeps their
                    ///< keys and values until they run backward. With those of rows next to it of which this replica
                    ///< has none: forward of those before, backward of those after
  tokens sent{};    ///< of the row, run by this replica, once for each other sharer that keeps them
  std::span<const relay> relays{};  ///< of the merge, where rows go round

  /// The row of a merge that a replica has in a pack, without its tokens.            Requires  the merge outlives it
  [[nodiscard]] static shared_row of(const merge& m, slimpack::pass p, pack_id pack) {
    return {m.sequence, p, pack, {}, m.replicas, {}, m.exchange, {}, {}, m.relays};
  }
};

}  // namespace slimpack

#endif
