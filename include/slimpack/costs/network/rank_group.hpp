#ifndef SLIMPACK_COSTS_NETWORK_RANK_GROUP_HPP
#define SLIMPACK_COSTS_NETWORK_RANK_GROUP_HPP

namespace slimpack::costs {

/// Ranks that communicate, and how far apart they sit.
/// Requires  1 <= nodes <= islands <= ranks
struct rank_group {
  int ranks{1};
  int nodes{1};    ///< that hold some of them
  int islands{1};  ///< that hold some: GPUs of a node with fast links to each other; all of the node on a switch
  friend constexpr bool operator==(const rank_group&, const rank_group&) = default;
};

}  // namespace slimpack::costs

#endif
