#include <slimpack/costs/network/placement.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace slimpack::placement_test {
namespace {

using costs::rank_group;

const costs::placement on_nodes_of_8{8, 8};
const costs::placement in_pairs{4, 2};

int rank(const shape& on, int tensor, int context, int stage, int replica) {
  return ((replica * on.stages + stage) * on.context + context) * on.tensor + tensor;
}

/// The group, counted the slow way.
rank_group counted(const costs::placement& place, const std::vector<int>& ranks) {
  std::set<int> nodes, islands;
  for (const int r : ranks) {
    nodes.insert(r / place.gpus_per_node);
    islands.insert(r / place.gpus_per_node * place.gpus_per_node + r % place.gpus_per_node / place.island);
  }
  return {static_cast<int>(ranks.size()), static_cast<int>(nodes.size()), static_cast<int>(islands.size())};
}

bool farther(const rank_group& a, const rank_group& b) {
  return a.nodes != b.nodes ? a.nodes > b.nodes : a.islands > b.islands;
}

std::vector<shape> shapes() {
  std::vector<shape> all;
  for (const int t : {1, 2, 3, 8, 16})
    for (const int c : {1, 2, 4})
      for (const int p : {1, 2, 3, 4, 8})
        for (const int d : {1, 2, 3})
          for (const int v : {1, 2})
            all.push_back({.stages = p, .replicas = d, .tensor = t, .context = c, .chunks = v});
  return all;
}

/// Visits each group of a shape with the numbers that its ranks have in common, and collects the farthest.
template <class Ranks>
rank_group farthest(const costs::placement& place, int groups, const Ranks& ranks) {
  rank_group worst = counted(place, ranks(0));
  for (int i = 1; i < groups; ++i)
    if (const rank_group g = counted(place, ranks(i)); farther(g, worst)) worst = g;
  return worst;
}

TEST(Placement, FindsTheTensorRanksThatAreFarthestApart) {
  for (const costs::placement& place : {on_nodes_of_8, in_pairs})
    for (const shape& on : shapes())
      EXPECT_EQ(
          place.tensor(on), farthest(place, on.replicas * on.stages * on.context, [&](int i) {
            std::vector<int> ranks;
            for (int t = 0; t < on.tensor; ++t)
              ranks.push_back(rank(on, t, i % on.context, i / on.context % on.stages, i / on.context / on.stages));
            return ranks;
          }));
}

TEST(Placement, FindsTheContextRanksThatAreFarthestApart) {
  for (const costs::placement& place : {on_nodes_of_8, in_pairs})
    for (const shape& on : shapes())
      EXPECT_EQ(place.context(on), farthest(place, on.replicas * on.stages * on.tensor, [&](int i) {
                  std::vector<int> ranks;
                  for (int c = 0; c < on.context; ++c)
                    ranks.push_back(rank(on, i % on.tensor, c, i / on.tensor % on.stages, i / on.tensor / on.stages));
                  return ranks;
                }));
}

TEST(Placement, FindsTheCopiesOfWeightsThatAreFarthestApart) {
  for (const costs::placement& place : {on_nodes_of_8, in_pairs})
    for (const shape& on : shapes())
      EXPECT_EQ(place.copies(on), farthest(place, on.stages * on.tensor, [&](int i) {
                  std::vector<int> ranks;
                  for (int d = 0; d < on.replicas; ++d)
                    for (int c = 0; c < on.context; ++c) ranks.push_back(rank(on, i % on.tensor, c, i / on.tensor, d));
                  return ranks;
                }));
}

TEST(Placement, FindsTheFarthestMessageOfABoundaryOfAllWithChunks) {
  for (const costs::placement& place : {on_nodes_of_8, in_pairs})
    for (const shape& on : shapes()) {
      if (on.stages < 2) continue;
      std::vector<rank_group> each;
      for (int r = 0; r < on.stages; ++r)
        each.push_back(farthest(place, on.replicas * on.context * on.tensor, [&](int i) {
          const int t = i % on.tensor, c = i / on.tensor % on.context, d = i / on.tensor / on.context;
          return std::vector<int>{rank(on, t, c, r, d), rank(on, t, c, (r + 1) % on.stages, d)};
        }));
      rank_group worst = each[0];
      for (const rank_group& g : each)
        if (farther(g, worst)) worst = g;
      for (int r = 0; r < (on.chunks > 1 ? on.stages : on.stages - 1); ++r)
        EXPECT_EQ(place.boundary(on, r), on.chunks > 1 ? worst : each[static_cast<std::size_t>(r)]);
    }
}

/// Where ranks divide experts: replicas before stages.
int rank_of_stage(const shape& on, int stage, int i) { return stage * on.replicas * on.context * on.tensor + i; }

TEST(Placement, PutsReplicasBeforeStagesWhereRanksDivideExperts) {
  for (const costs::placement& place : {on_nodes_of_8, in_pairs})
    for (shape on : shapes()) {
      const int ranks = on.replicas * on.context * on.tensor;
      for (const int expert : {2, 3, 4, 8, 16}) {
        if (ranks % expert != 0) continue;
        on.expert = expert;
        EXPECT_EQ(place.experts(on), farthest(place, on.stages * (ranks / expert), [&](int g) {
                    std::vector<int> group;
                    for (int i = 0; i < expert; ++i)
                      group.push_back(rank_of_stage(on, g / (ranks / expert), g % (ranks / expert) * expert + i));
                    return group;
                  }));
        EXPECT_EQ(place.expert_copies(on), farthest(place, on.stages * expert, [&](int g) {
                    std::vector<int> group;
                    for (int i = g % expert; i < ranks; i += expert) group.push_back(rank_of_stage(on, g / expert, i));
                    return group;
                  }));
        EXPECT_EQ(place.copies(on), farthest(place, on.stages * on.tensor, [&](int g) {
                    std::vector<int> group;
                    for (int i = g % on.tensor; i < ranks; i += on.tensor)
                      group.push_back(rank_of_stage(on, g / on.tensor, i));
                    return group;
                  }));
        if (on.stages == 1 || on.chunks > 1) continue;
        EXPECT_EQ(place.boundary(on, 0), farthest(place, ranks, [&](int i) {
                    return std::vector<int>{rank_of_stage(on, 0, i), rank_of_stage(on, 1, i)};
                  }));
      }
    }
}

// Megatron-LM's mapping of Mixtral on 64 GPUs: 8 ranks with the experts of a stage are a node, and stages are apart.
TEST(Placement, KeepsEightExpertRanksOnANode) {
  const shape on{.stages = 4, .replicas = 16, .expert = 8};
  EXPECT_EQ(on_nodes_of_8.experts(on), (rank_group{8, 1, 1}));
  EXPECT_EQ(on_nodes_of_8.expert_copies(on), (rank_group{2, 2, 2}));
  EXPECT_EQ(on_nodes_of_8.boundary(on, 0), (rank_group{2, 2, 2}));
}

// Four pipelines of 2 stages of 4 ranks, one on each node: neither their messages nor those from chunk to chunk leave.
TEST(Placement, FindsHowFarReplicasAreApart) {
  for (const costs::placement& place : {on_nodes_of_8, in_pairs})
    for (const shape& on : shapes())
      for (int stage = 0; stage < on.stages; ++stage)
        for (std::uint32_t last = 1; last < static_cast<std::uint32_t>(on.replicas); ++last) {
          const std::vector<std::uint32_t> replicas{0, last};
          EXPECT_EQ(place.between(on, replicas, stage),
                    counted(place, {rank(on, 0, 0, stage, 0), rank(on, 0, 0, stage, static_cast<int>(last))}));
        }
}

TEST(Placement, FindsWhereReplicasLieAlike) {
  for (const costs::placement& place : {on_nodes_of_8, in_pairs})
    for (const shape& on : shapes())
      for (int stage = 0; stage < on.stages; ++stage) {
        bool same = true;
        for (std::uint32_t last = 1; last < static_cast<std::uint32_t>(on.replicas); ++last)
          for (std::uint32_t first = 0; first < last; ++first) {
            const std::vector<std::uint32_t> replicas{first, last};
            same = same && place.between(on, replicas, 0) == place.between(on, replicas, stage);
          }
        EXPECT_EQ(place.alike(on, 0, stage), same);
      }
}

TEST(Placement, KeepsAPipelineThatFillsANodeInside) {
  const shape on{.stages = 2, .replicas = 4, .tensor = 4, .chunks = 2};
  EXPECT_EQ(on_nodes_of_8.boundary(on, 0), (rank_group{2, 1, 1}));
  EXPECT_EQ(on_nodes_of_8.boundary(on, 1), (rank_group{2, 1, 1}));
}

// Ranks 0 and 1 are wired, and 2 and 3: tensor ranks are neighbours, context ranks 0 and 2 are not.
TEST(Placement, KnowsWhichRanksAreWiredInPairs) {
  const shape on{.tensor = 2, .context = 2};
  EXPECT_EQ(in_pairs.tensor(on), (rank_group{2, 1, 1}));
  EXPECT_EQ(in_pairs.context(on), (rank_group{2, 1, 2}));
  EXPECT_EQ(in_pairs.adjacent(4), (rank_group{4, 1, 2}));
  EXPECT_EQ(in_pairs.adjacent(6), (rank_group{6, 2, 3}));
}

}  // namespace
}  // namespace slimpack::placement_test
