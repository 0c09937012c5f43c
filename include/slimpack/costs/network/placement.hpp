#ifndef SLIMPACK_COSTS_NETWORK_PLACEMENT_HPP
#define SLIMPACK_COSTS_NETWORK_PLACEMENT_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/costs/network/rank_group.hpp>

#include <cstdint>
#include <span>
#include <tuple>

namespace slimpack::costs {

/// Which ranks of a shape share a node: ranks fill nodes tensor first, then context, stages, replicas.
/// Each question is answered for the group that is spread farthest: most nodes, then most islands.
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
    const int stage = s.tensor * s.context;
    for (int first = 0; first < s.stages * stage; first += stage)
      for (int t = 0; t < s.tensor; ++t)
        spread(worst, group(s.replicas * s.context, [=](int i) {
                 return i / s.context * s.stages * stage + first + i % s.context * s.tensor + t;
               }));
    return worst;
  }
  /// Both ends of a message from stage r to r + 1, or back. With chunks, messages also go from the last stage to the
  /// first, and every boundary has the worst one's price.
  [[nodiscard]] constexpr rank_group boundary(const shape& s, int r) const {
    rank_group worst;
    const int stage = s.tensor * s.context;
    for (int from = 0; from < all(s); ++from) {
      const int at = from / stage % s.stages;
      const int to = from + (at + 1 < s.stages ? stage : (1 - s.stages) * stage);
      if (at == r || s.chunks > 1) spread(worst, group(2, [=](int i) { return i == 0 ? from : to; }));
    }
    return worst;
  }
  /// One rank each of the first and the last of some replicas, on a stage.
  /// Requires  replicas of the shape, ascending
  [[nodiscard]] constexpr rank_group between(const shape& s, std::span<const std::uint32_t> replicas, int stage) const {
    const auto first_of = [&](std::uint32_t r) { return (static_cast<int>(r) * s.stages + stage) * s.tensor * s.context; };
    return group(2, [&](int i) { return first_of(i == 0 ? replicas.front() : replicas.back()); });
  }

 private:
  static constexpr int all(const shape& s) noexcept { return s.replicas * s.stages * s.context * s.tensor; }

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
