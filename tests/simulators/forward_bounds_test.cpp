#include <slimpack/costs/quadratic.hpp>
#include <slimpack/simulators/bounds/forward_bounds.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::forward_bounds_test {
namespace {

/// A second a token, two a pack, one a message.
constexpr costs::quadratic plain{.linear = 1, .attention = 0, .per_pack = {2}, .hop = {1}};

std::vector<bound> bounds_of(const costs::quadratic& cost, const shape& on, const std::vector<tokens>& lengths) {
  return simulators::forward_bounds(cost, on, batch_view(lengths).sequences());
}

TEST(LastSlice, IsWhatFollowsTheLastPossibleCut) {
  const auto length = [](std::int64_t of) { return simulators::last_slice({{3}, {of}}, {10}).length; };
  EXPECT_EQ(length(1), tokens{1});
  EXPECT_EQ(length(10), tokens{10});
  EXPECT_EQ(length(11), tokens{1});
  EXPECT_EQ(length(29), tokens{9});
  EXPECT_EQ(length(30), tokens{10});
}

// Sequences of 14 and 23 tokens on two stages. The first slice of either is 10 tokens, the last 4 and 3.
//   stage 0   pack 2, 37 tokens, and out by stage 1: message 1, pack 2 and 3 tokens         2 + 37 + 6 = 45
//   stage 1   fill 2 + 10 + 1, pack 2, 37 tokens                                            13 + 2 + 37 = 52
//   way       of 23 tokens on the first part that takes it longest: pack 2, 23 tokens, 6    31
TEST(ForwardBounds, AddUpOnTwoStages) {
  const shape on{.stages = 2, .quantum = {10}};
  EXPECT_EQ(bounds_of(plain, on, {{14}, {23}}), (std::vector<bound>{{"stage 0: fill + work + way out", {45}},
                                                                    {"stage 1: fill + work + way out", {52}},
                                                                    {"sequence 1: its own way", {31}}}));
}

// A root of 14 tokens of which 23 and 5 go on. A copy of the root may move cuts, so that one token leaves last.
//   stage 0   pack 2, 42 tokens, and out by stage 1: message 1, pack 2 and a token          2 + 42 + 4 = 48
//   stage 1   fill 2 + 10 + 1, pack 2, 42 tokens                                            13 + 2 + 42 = 57
//   way       of the path of 37 tokens on stage 0: pack 2, 37 tokens, 4                     43
TEST(ForwardBounds, AddUpAlongPaths) {
  const std::vector<tokens> lengths{{14}, {23}, {5}};
  const std::vector<sequence_id> parents{no_parent, {0}, {0}};
  EXPECT_EQ(simulators::forward_bounds(plain, {.stages = 2, .quantum = {10}}, batch_view(lengths, parents).sequences()),
            (std::vector<bound>{{"stage 0: fill + work + way out", {48}},
                                {"stage 1: fill + work + way out", {57}},
                                {"path of sequence 1: its own way", {43}}}));
}

// Two replicas have half of 37 tokens each, or of 23 where they share a sequence.
TEST(ForwardBounds, ShareWorkOverReplicas) {
  const shape on{.stages = 2, .replicas = 2, .quantum = {10}};
  EXPECT_EQ(bounds_of(plain, on, {{14}, {23}}), (std::vector<bound>{{"stage 0: fill + work + way out", {2 + 18.5 + 6}},
                                                                    {"stage 1: fill + work + way out", {13 + 2 + 18.5}},
                                                                    {"sequence 1: its own way", {2 + 11.5 + 6}}}));
}

// Two chunks on one stage: their work and packs, 2 (2 + 37); nothing fills or leaves but by the stage itself.
TEST(ForwardBounds, AddUpTheChunksOfAStage) {
  const shape on{.chunks = 2, .quantum = {10}};
  EXPECT_EQ(bounds_of(plain, on, {{14}, {23}}).front().time, seconds{78});
}

/// Parts of unlike speed.
struct uneven : costs::quadratic {
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    return quadratic::time(s, p, part) * (part % 2 == 0 ? 1 : 3);
  }
};

// The way of 10 tokens on three parts of 1, 3 and 1 s a token: 10 s, on part 1 30 s, and 10 s more.
TEST(ForwardBounds, FollowASequenceToThePartThatTakesItLongest) {
  const uneven cost{{.linear = 1, .attention = 0}};
  const sequence s{{0}, {10}};
  const shape on{.stages = 3, .quantum = {10}};
  EXPECT_EQ(simulators::way_bound(cost, on, s), seconds{10 + 30 + 10});
  EXPECT_EQ(simulators::way_bound(cost, on, s, 3), seconds{10 + 10 + 10});
}

TEST(ForwardBounds, AreNoneForAnEmptyBatch) { EXPECT_TRUE(bounds_of(plain, {.stages = 2}, {}).empty()); }

// Packs of random cuts and orders, which pass the stages one after the other.
TEST(ForwardBounds, HoldForRandomPacks) {
  double closest = 0;
  for (int seed = 1; seed <= tests::cases(200); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const uneven cost{{.linear = 1,
                       .attention = 0.01 * random.ratio(),
                       .per_pack = {5 * random.ratio()},
                       .hop = {5 * random.ratio()}}};
    const shape on{.stages = static_cast<int>(random.between(1, 4)), .quantum = {16}};
    std::vector<tokens> lengths;
    for (std::int64_t n = random.between(1, 4); n > 0; --n) lengths.push_back({random.between(1, 100)});
    const micropacks packs = testing::random_partition(lengths, on.quantum, cost, random).forward;
    std::vector<seconds> free(static_cast<std::size_t>(on.stages));
    for (std::size_t i = 0; i < packs.size(); ++i) {
      seconds arrived{};
      for (int stage = 0; stage < on.stages; ++stage) {
        seconds& end = free[static_cast<std::size_t>(stage)];
        end = std::max(end, arrived) + cost.overhead(pass::forward, stage);
        for (const slice& s : packs[i]) end += cost.time(s, pass::forward, stage);
        arrived = end + cost.hop;
      }
    }
    for (const bound& b : simulators::forward_bounds(cost, on, batch_view(lengths).sequences())) {
      EXPECT_LE(b.time.value, free.back().value * (1 + 1e-12)) << b.name << ", seed " << seed;
      if (on.stages > 1) closest = std::max(closest, b.time / free.back());
    }
  }
  EXPECT_GT(closest, 0.99) << "no bound is near random packs";
}

}  // namespace
}  // namespace slimpack::forward_bounds_test
