#ifndef SLIMPACK_COSTS_NETWORK_PLACEMENT_HPP
#define SLIMPACK_COSTS_NETWORK_PLACEMENT_HPP

#include <slimpack/core/shape.hpp>

#include <cstdint>
#include <span>
#include <tuple>

namespace slimpack::costs {

/// Ranks that communicate, and how far apart they sit.
/// Requires  1 <= nodes <= islands <= ranks
struct rank_group {
  int ranks{1};
  int nodes{1};    ///< that hold some of them
  int islands{1};  ///< that hold some: GPUs of a node with fast links to each other; all of the node on a switch
  friend constexpr bool operator==(const rank_group&, const rank_group&) = default;
};

/// Which ranks of a shape share a node: ranks fill nodes tensor first, then context, stages, replicas; where ranks
/// divide experts replicas come before stages, as in Megatron-LM's order tp-cp-ep-dp-pp, since these groups reach over
/// replicas and send more than neighbouring stages do.
/// Each question is answered for the group that is spread farthest: most nodes, then most islands. No two ranks are
/// farther apart than on two nodes, and no more of them are asked then.
/// Requires  1 <= island <= gpus_per_node            Errors    none            Complexity  O(ranks of the shape)
struct placement {
  int gpus_per_node{1};
  int island{1};  ///< neighbouring GPUs with fast links to each other: all of a node on a switch, 2 of wired pairs

  /// The first ranks of all.
  [[nodiscard]] constexpr rank_group adjacent(int ranks) const {
    return group(ranks, [](int i) { return i; });
  }
  /// Tensor-parallel ranks of a stage.
  [[nodiscard]] constexpr rank_group tensor(const shape& s) const {
    rank_group worst;
    for (int first = 0; first < all(s); first += s.tensor)
      spread(worst, group(s.tensor, [=](int i) { return first + i; }));
    return worst;
  }
  /// Ranks that hold the slices of one sequence: the context-parallel ranks of a stage.
  [[nodiscard]] constexpr rank_group context(const shape& s) const {
    rank_group worst;
    for (int first = 0; first < all(s); first += s.tensor * s.context)
      for (int t = 0; t < s.tensor; ++t)
        spread(worst, group(s.context, [=](int i) { return first + t + i * s.tensor; }));
    return worst;
  }
  /// Copies of a stage's weights: its context-parallel ranks on all replicas.
  [[nodiscard]] constexpr rank_group copies(const shape& s) const {
    rank_group worst;
    for (int r = 0; r < s.stages; ++r)
      for (int t = 0; t < s.tensor; ++t)
        spread(worst, group(s.replicas * s.context,
                            [&](int i) { return first_of(s, i / s.context, r) + i % s.context * s.tensor + t; }));
    return worst;
  }
  /// Ranks of a stage that divide its experts: neighbours among its tensor- and context-parallel ranks of all replicas.
  [[nodiscard]] constexpr rank_group experts(const shape& s) const {
    rank_group worst;
    for (int r = 0; r < s.stages; ++r)
      for (int first = 0; first < of_a_stage(s); first += s.expert)
        spread(worst, group(s.expert, [&](int i) { return of_stage(s, r, first + i); }));
    return worst;
  }
  /// Copies of the same experts: one rank of each such group.
  [[nodiscard]] constexpr rank_group expert_copies(const shape& s) const {
    rank_group worst;
    for (int r = 0; r < s.stages; ++r)
      for (int first = 0; first < s.expert; ++first)
        spread(worst, group(of_a_stage(s) / s.expert, [&](int i) { return of_stage(s, r, first + i * s.expert); }));
    return worst;
  }
  /// Both ends of a message from stage r to r + 1, or back. With chunks, messages also go from the last stage to the
  /// first, and every boundary has the worst one's price.
  [[nodiscard]] constexpr rank_group boundary(const shape& s, int r) const {
    rank_group worst;
    for (int at = 0; at < s.stages; ++at) {
      if (at != r && s.chunks == 1) continue;
      for (int i = 0; i < of_a_stage(s) && worst.nodes < 2; ++i) {
        const int from = of_stage(s, at, i), to = of_stage(s, (at + 1) % s.stages, i);
        spread(worst, group(2, [=](int end) { return end == 0 ? from : to; }));
      }
    }
    return worst;
  }
  /// Both ends of a message from a stage to the last, or back.
  [[nodiscard]] constexpr rank_group to_last(const shape& s, int stage) const { return stages(s, stage, s.stages - 1); }
  /// Both ends of a message between two stages.
  [[nodiscard]] constexpr rank_group stages(const shape& s, int one, int other) const {
    rank_group worst;
    for (int i = 0; i < of_a_stage(s) && worst.nodes < 2; ++i) {
      const int from = of_stage(s, one, i), to = of_stage(s, other, i);
      spread(worst, group(2, [=](int end) { return end == 0 ? from : to; }));
    }
    return worst;
  }
  /// One rank each of the first and the last of some replicas, on a stage.
  /// Requires  replicas of the shape, ascending
  [[nodiscard]] constexpr rank_group between(const shape& s, std::span<const std::uint32_t> replicas, int stage) const {
    return group(
        2, [&](int i) { return first_of(s, static_cast<int>(i == 0 ? replicas.front() : replicas.back()), stage); });
  }
  /// Whether any replicas lie on one stage as they do on another.
  [[nodiscard]] constexpr bool alike(const shape& s, int stage, int other) const {
    for (std::uint32_t r = 1; r < static_cast<std::uint32_t>(s.replicas); ++r) {
      const std::uint32_t neighbours[]{r - 1, r};
      if (between(s, neighbours, stage) != between(s, neighbours, other)) return false;
    }
    return true;
  }

 private:
  static constexpr int all(const shape& s) noexcept { return s.replicas * s.stages * s.context * s.tensor; }
  static constexpr int of_a_stage(const shape& s) noexcept { return s.replicas * s.context * s.tensor; }
  /// The first rank of a stage of a replica.
  static constexpr int first_of(const shape& s, int replica, int stage) noexcept {
    const int before = s.expert > 1 ? stage * s.replicas + replica : replica * s.stages + stage;
    return before * s.context * s.tensor;
  }
  /// The i-th rank of a stage: replica by replica, and in each context- and tensor-parallel ranks.
  static constexpr int of_stage(const shape& s, int stage, int i) noexcept {
    const int ranks = s.context * s.tensor;
    return first_of(s, i / ranks, stage) + i % ranks;
  }

  /// Ranks come in rising order, or are two: a node that was left is not entered again.
  template <class RankOf>
  [[nodiscard]] constexpr rank_group group(int ranks, const RankOf& rank) const {
    rank_group made{ranks, 1, 1};
    for (int i = 1; i < ranks; ++i) {
      const bool other_node = rank(i) / gpus_per_node != rank(i - 1) / gpus_per_node;
      const bool other_island = rank(i) % gpus_per_node / island != rank(i - 1) % gpus_per_node / island;
      made.nodes += other_node ? 1 : 0;
      made.islands += other_node || other_island ? 1 : 0;
    }
    return made;
  }
  static constexpr void spread(rank_group& worst, const rank_group& other) {
    if (std::tuple(other.nodes, other.islands, other.ranks) > std::tuple(worst.nodes, worst.islands, worst.ranks))
      worst = other;
  }
};

}  // namespace slimpack::costs

#endif
