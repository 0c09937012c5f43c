#ifndef SLIMPACK_CORE_SHARED_ROW_HPP
#define SLIMPACK_CORE_SHARED_ROW_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/relays/relay.hpp>
#include <slimpack/core/slice.hpp>

#include <cstdint>
#include <span>

namespace slimpack {

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
