#include <slimpack/costs/with_vocabulary.hpp>
#include <slimpack/pricing/detail/reduction_waits.hpp>
#include <slimpack/pricing/price.hpp>

#include "../support/bucketed_cost.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace slimpack::reduction_waits_test {
namespace {

/// A second a token forward, messages of 1 s.
tests::bucketed_cost cost_with(std::vector<std::vector<gradient_bucket>> buckets) {
  return {costs::quadratic{.linear = 1, .attention = 0, .hop = {1}}, std::move(buckets), {}};
}

partition packs_of(std::vector<std::int64_t> sizes) {
  partition packs;
  std::uint32_t id = 0;
  for (const std::int64_t size : sizes) {
    for (const pass p : {pass::forward, pass::backward}) packs.of(p).append({{id}, {0}, {size}}), packs.of(p).close();
    ++id;
  }
  return packs;
}

workload priced(const tests::bucketed_cost& cost, const shape& on) {
  return price(packs_of({4, 4}), cost, on, std::vector<memory_rates>(static_cast<std::size_t>(on.stages)));
}

// A first pack of 4 s, of which the second bucket is needed after 2: buckets are there at 1 s and at 6 s, so that the
// pack ends at 6 + 2 s instead of 4. Stage 1 gets it at 9 s; its weights were there at 7, and the second bucket, needed
// at 9 + 3 s, at 11.
TEST(WaitForWeights, FirstPacksEndWhenTheirLastLayersHaveRun) {
  const workload w = priced(cost_with({{{0, {}, {1}}, {0.5, {}, {5}}}, {{0, {}, {7}}, {0.75, {}, {4}}}}),
                            {.stages = 2, .replicas = 2});
  EXPECT_EQ(w.times.calls[pass::forward], (std::vector<seconds>{{8}, {4}, {4}, {4}}));
  EXPECT_EQ(w.times.communication, seconds{4});
  EXPECT_EQ(w.times.weight_waits, (std::vector<seconds>{{4}, {0}}));
}

// The stream of one stage gathers both chunks: chunk 0 at 3 s, chunk 1 at 13 s, when its pack has come at 3 + 4 + 1.
TEST(WaitForWeights, ChunksShareTheChannelOfTheirStage) {
  const workload w = priced(cost_with({{{0, {}, {3}}}, {{0, {}, {10}}}}), {.stages = 1, .replicas = 2, .chunks = 2});
  EXPECT_EQ(w.times.calls[pass::forward], (std::vector<seconds>{{7}, {4 + 13 - 8}, {4}, {4}}));
  EXPECT_EQ(w.times.communication, seconds{3 + 5});
}

TEST(WaitForWeights, NobodyWaitsWithoutBuckets) {
  const workload w = priced(cost_with({{}, {}}), {.stages = 2, .replicas = 2});
  EXPECT_EQ(w.times.calls[pass::forward], (std::vector<seconds>(4, {4})));
  EXPECT_EQ(w.times.communication, seconds{0});
}

// Whatever buckets a model has: on one replica nothing is reduced, nor what stages have of a spread vocabulary.
TEST(WaitForWeights, NobodyWaitsWhereThereIsOneCopyOfTheWeights) {
  const std::vector<gradient_bucket> one{{0, {3}, {5}}};
  const tests::bucketed_cost cost = cost_with({one, one, one, one});
  const shape on{.stages = 2};
  workload w = priced(cost, on);
  detail::count_late_sums(cost, w);
  EXPECT_EQ(w.times.calls[pass::forward], (std::vector<seconds>(4, {4})));
  EXPECT_EQ(w.times.calls[pass::backward], (std::vector<seconds>(4, {8})));
  EXPECT_EQ(w.times.communication, seconds{0});
  EXPECT_TRUE(detail::reduction_waits(cost, on).empty());
  EXPECT_FALSE(detail::reduction_waits(cost, {.stages = 2, .replicas = 2}).empty());
  const costs::with_vocabulary<tests::bucketed_cost> with_ends{cost, {.embed = {.call = 1}}};
  const auto embeds = [&](int replicas) {
    const shape spread{.stages = 2, .replicas = replicas, .vocabulary = vocabulary::spread};
    return price(packs_of({4}), with_ends, spread, std::vector<memory_rates>(2)).times.calls[instruction_kind::embed];
  };
  EXPECT_EQ(embeds(1), (std::vector<seconds>{{1}, {1}}));
  EXPECT_EQ(embeds(2), (std::vector<seconds>{{1 + 5}, {1}}));  // the second comes when its weights are there
}

// A last pack of 8 s on stage 0: its last layers' gradients are there after 4 s, and summed for 3; those before them,
// at its end, for 2. The sums end at 10 s. Stage 1, which ends before, is not asked. W of 4 s apart: at 2 + 3, at 5 +
// 2.
TEST(CountLateSums, LastBackwardPacksEndWithTheSumsOfStage0) {
  const tests::bucketed_cost cost = cost_with({{{0, {2}, {}}, {0.5, {3}, {}}}, {{0, {50}, {}}}});
  workload w = priced(cost, {.stages = 2, .replicas = 2});
  ASSERT_EQ(w.times.calls[pass::backward], (std::vector<seconds>(4, {8})));
  detail::count_late_sums(cost, w);
  EXPECT_EQ(w.times.calls[pass::backward], (std::vector<seconds>{{8}, {8}, {10}, {8}}));
  EXPECT_EQ(w.times.communication, seconds{0});
  w.split.weights.assign(4, {4});
  detail::count_late_sums(cost, w);
  EXPECT_EQ(w.split.weights, (std::vector<seconds>{{4}, {4}, {7}, {4}}));
}

TEST(CountLateSums, LargerPacksHideMoreOfThem) {
  const tests::bucketed_cost cost = cost_with({{{0, {2}, {}}, {0.25, {4}, {3}}, {0.5, {3}, {}}}});
  const detail::reduction_waits waits(cost, {.replicas = 2});
  EXPECT_EQ(waits.late_sums({0}), seconds{9});    // one after the other: 3, 7, 9
  EXPECT_EQ(waits.late_sums({4}), seconds{7});    // from 2 s: 5, 9, 11 of 4
  EXPECT_EQ(waits.late_sums({100}), seconds{2});  // the first layers' are final at the end
  EXPECT_EQ(waits.most(), seconds{9 + 3});
}

TEST(CountLateSums, NothingIsLateWithoutBucketsOrBackward) {
  const tests::bucketed_cost none = cost_with({{}, {}});
  const detail::reduction_waits waits(none, {.stages = 2, .replicas = 2});
  EXPECT_EQ(waits.late_sums({4}), seconds{0});
  EXPECT_EQ(waits.most(), seconds{0});
  workload forward;
  forward.shape.replicas = 2;
  detail::count_late_sums(cost_with({{{0, {2}, {}}}}), forward);
  EXPECT_TRUE(forward.times.calls[pass::backward].empty());
}

}  // namespace
}  // namespace slimpack::reduction_waits_test
