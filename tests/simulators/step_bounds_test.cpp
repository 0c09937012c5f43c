#include <slimpack/costs/quadratic.hpp>
#include <slimpack/simulators/bounds/lower_bounds.hpp>
#include <slimpack/simulators/step_bounds.hpp>

#include "../support/bucketed_cost.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace slimpack::step_bounds_test {
namespace {

using tests::bucketed_cost;

/// A second a token forward, two backward; half a second a pack.
constexpr costs::quadratic plain{.linear = 1, .attention = 0, .per_pack = {0.5}};
const std::vector<sequence> batch{{{0}, {10}}, {{1}, {20}}};
constexpr shape copies{.stages = 2, .replicas = 2, .quantum = {10}};

std::vector<bound> bounds_of(const bucketed_cost& cost, const shape& on) {
  return simulators::step_bounds(cost, on, batch, std::vector<memory_rates>(static_cast<std::size_t>(on.stages)));
}
std::vector<bound> of_work(const bucketed_cost& cost, const shape& on) {
  return simulators::lower_bounds(cost, on, batch, std::vector<memory_rates>(static_cast<std::size_t>(on.stages)));
}

// Part 0 gathers its first bucket in 3 s before anything runs; the shortest sum of a first bucket, 2 s of part 1,
// follows all work, and the optimizer takes 1 s.
TEST(LeastReduction, IsTheFirstGatherTheShortestSumAndTheOptimizer) {
  const bucketed_cost cost{plain, {{{0, {5}, {3}}, {0.5, {1}, {9}}}, {{0, {2}, {7}}}}, {1}};
  EXPECT_EQ(simulators::least_reduction(cost, copies), seconds{3 + 2 + 1});
}

// A part without buckets has nothing to sum: its gradients may be the last.
TEST(LeastReduction, CountsNoSumWhereAPartHasNone) {
  const bucketed_cost cost{plain, {{{0, {5}, {3}}}, {}}, {1}};
  EXPECT_EQ(simulators::least_reduction(cost, copies), seconds{3 + 0 + 1});
}

// Stage 0 gathers its 4 s of a spread vocabulary first; the shortest sum is that of the other stage's share, 0.5 s.
TEST(LeastReduction, GathersASpreadVocabularyBefore) {
  shape on = copies;
  on.vocabulary = vocabulary::spread;
  const bucketed_cost cost{plain, {{{0, {5}, {3}}}, {{0, {2}, {7}}}, {{0, {6}, {4}}}, {{0, {0.5}, {8}}}}, {1}};
  EXPECT_EQ(simulators::least_reduction(cost, on), seconds{4 + 3 + 0.5 + 1});
}

TEST(LeastReduction, IsNothingWhereWeightsHaveOneCopy) {
  const bucketed_cost cost{plain, {{{0, {5}, {3}}}, {{0, {2}, {7}}}}, {1}};
  EXPECT_EQ(simulators::least_reduction(cost, {.stages = 2, .quantum = {10}}), seconds{0});
}

// The first pack of stage 0 takes 10.5 s at least. Its third bucket has come after 3 + 9 + 4 = 16 s, when half of the
// pack is left, and the second after 12 s, when three quarters are: it ends no earlier than 16 + 5.25 and 12 + 7.875 s,
// 10.75 s after the pack alone. The first bucket is 3 s of it.
TEST(LateWeights, AreWhatTheFirstPackWaitsForBeyondItsFirstBucket) {
  const bucketed_cost cost{plain, {{{0, {}, {3}}, {0.25, {}, {9}}, {0.5, {}, {4}}}, {}}, {}};
  EXPECT_EQ(simulators::late_weights(cost, copies, batch), seconds{16 - 0.5 * 10.5 - 3});
  const bucketed_cost early{plain, {{{0, {}, {3}}, {0.5, {}, {4}}}, {}}, {}};
  EXPECT_EQ(simulators::late_weights(early, copies, batch), seconds{0}) << "7 s have come when half of 10.5 s have run";
  EXPECT_EQ(simulators::late_weights(bucketed_cost{plain, {{}, {}}, {}}, copies, batch), seconds{0});
}

// Beside the work, every bound of it has the reduction's part on top, later stages late weights too; then come the
// streams: 3 + 9 + 4 + 5 and 7 + 2 s with 1 s after each.
TEST(StepBounds, AddTheReductionToThoseOfTheWork) {
  const bucketed_cost cost{plain, {{{0, {5}, {3}}, {0.25, {}, {9}}, {0.5, {}, {4}}}, {{0, {2}, {7}}}}, {1}};
  const std::vector<bound> work = of_work(cost, copies), step = bounds_of(cost, copies);
  ASSERT_EQ(step.size(), work.size() + 2);
  for (std::size_t i = 0; i < work.size(); ++i) {
    EXPECT_EQ(step[i].name, work[i].name);
    EXPECT_DOUBLE_EQ(step[i].time.value, work[i].time.value + 6 + (i == 1 ? 7.75 : 0)) << step[i].name;
  }
  EXPECT_EQ(step[work.size()], (bound{"stage 0: weights and gradients", {22}}));
  EXPECT_EQ(step[work.size() + 1], (bound{"stage 1: weights and gradients", {10}}));
}

// Without buckets all of it follows the work.
TEST(StepBounds, AddAReductionThatFollowsTheWork) {
  const bucketed_cost cost{plain, {{}, {}}, {7}};
  const std::vector<bound> work = of_work(cost, copies), step = bounds_of(cost, copies);
  ASSERT_EQ(step.size(), work.size());
  for (std::size_t i = 0; i < work.size(); ++i) EXPECT_EQ(step[i].time, work[i].time + seconds{7}) << step[i].name;
}

TEST(StepBounds, AreNoneForAnEmptyBatch) {
  const bucketed_cost cost{plain, {{{0, {5}, {3}}}, {}}, {1}};
  EXPECT_TRUE(simulators::step_bounds(cost, copies, {}, std::vector<memory_rates>(2)).empty());
}

}  // namespace
}  // namespace slimpack::step_bounds_test
