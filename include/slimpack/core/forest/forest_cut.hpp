#ifndef SLIMPACK_CORE_FOREST_FOREST_CUT_HPP
#define SLIMPACK_CORE_FOREST_FOREST_CUT_HPP

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/units.hpp>

#include <vector>

namespace slimpack {

/// Tokens that are computed more than once: a path that several replicas need is at home on one of them, and the others
/// have a copy. What is trained on counts at home.
struct path_copy {
  sequence_id sequence;  ///< that has the copy
  sequence_id of;        ///< the batch's sequence that the last of the copied tokens is of
  tokens until;          ///< its tokens before this place are copies: all, or those before its own
  friend constexpr bool operator==(const path_copy&, const path_copy&) = default;
};

/// A forest as replicas run it. Sequences of the batch keep their ids, and are where they are at home. One whose path
/// was cut goes on where a copy ends, or has the copied tokens before its own, and then begins earlier on its path than
/// in the batch. Copies that others go on from are sequences behind those of the batch.
/// Shapes    lengths, parents: by sequence; copies: in ascending order of sequence
struct forest_cut {
  std::vector<tokens> lengths;
  std::vector<sequence_id> parents;
  std::vector<path_copy> copies;

  operator batch_view() const noexcept { return {lengths, parents}; }
  friend bool operator==(const forest_cut&, const forest_cut&) = default;
};

}  // namespace slimpack

#endif
