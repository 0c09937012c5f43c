#ifndef SLIMPACK_CORE_MERGE_HPP
#define SLIMPACK_CORE_MERGE_HPP

#include <slimpack/core/exchange.hpp>
#include <slimpack/core/slice.hpp>

#include <cstdint>
#include <vector>

namespace slimpack {

/// A sequence that several replicas share (DP-Merge): for its slices alone they form one context-parallel group.
/// A row is a run of its tokens, of which each sharer runs its own slices in a pack of its own. On each stage the packs
/// of a row start together, when the last of them is ready, and end together with the longest.
/// Shapes    forward, backward: one entry per row in run order; a row has the pack of each of `replicas`
/// Law       rows run through the sequence like slices: front to back, backward back to front; a token runs backward on
///           the replica that ran it forward; testing/plan_laws.hpp checks them
/// Source    SlimPack (arXiv:2509.26246), DP-Merge; rows and their joint run are derived
struct merge {
  sequence_id sequence;
  std::vector<std::uint32_t> replicas;  ///< ascending, at least two
  std::vector<std::vector<pack_id>> forward;
  std::vector<std::vector<pack_id>> backward;
  slimpack::exchange exchange{slimpack::exchange::keep};

  [[nodiscard]] std::vector<std::vector<pack_id>>& of(pass p) noexcept { return p == pass::forward ? forward : backward; }
  [[nodiscard]] const std::vector<std::vector<pack_id>>& of(pass p) const noexcept {
    return p == pass::forward ? forward : backward;
  }
  friend bool operator==(const merge&, const merge&) = default;
};

}  // namespace slimpack

#endif
