#include <slimpack/basic_planner.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/reduction_stream.hpp>
#include <slimpack/simulators/step_bounds.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include "../laws/cases.hpp"
#include "../support/bucketed_cost.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::reduction_test {
namespace {

template <class Schedule = schedules::list>
plan planned(const shape& on, const tests::bucketed_cost& cost, const std::vector<tokens>& lengths,
             Schedule schedule = {}) {
  return basic_planner{on,       slicers::equal_cost{},
                       cost,     solvers::two_phase{.effort = solvers::search_budget::fast(), .most_sharers = 1},
                       schedule, simulators::sweep{}}(lengths)
      .value();
}

// One stage, two replicas of a sequence each, of 4 and of 6 tokens: they end at 12 and 18 s, the last backward runs 8
// and 12 s, from 4 and 6 s on. The second of two buckets is final when half of it is left: at 8 and at 12 s, so that
// its sum of 3 s ends at 15 s; the first is final at 18 s, and summed at 20. The optimizer takes 1 s more.
TEST(Reduction, BeginsWhereTheSlowestReplicaIsReady) {
  const tests::bucketed_cost cost{costs::quadratic{.linear = 1, .attention = 0}, {{{0, {2}, {}}, {0.5, {3}, {}}}}, {1}};
  const plan p = planned({.stages = 1, .replicas = 2}, cost, {{4}, {6}});
  ASSERT_TRUE(p.reduction);
  EXPECT_EQ(simulators::reduced_buckets(p, 0),
            (std::vector<simulators::stream_use>{{0, 1, {12}, {15}}, {0, 0, {18}, {20}}}));
  EXPECT_EQ(p.reduce_time, seconds{3});
  EXPECT_EQ(p.step_time, seconds{21});
  EXPECT_EQ(simulators::least_reduction(cost, p.shape), seconds{3});
}

// A stream that is still busy makes buckets wait: 18 s of sums after 12 s.
TEST(Reduction, StreamsCarryOneBucketAfterTheOther) {
  const tests::bucketed_cost cost{
      costs::quadratic{.linear = 1, .attention = 0}, {{{0, {2}, {3}}, {0.5, {16}, {4}}}}, {}};
  const plan p = planned({.stages = 1, .replicas = 2}, cost, {{4}, {4}});
  // The first packs wait for 5 s: their second half begins when 7 s of gathers are over.
  EXPECT_EQ(simulators::gathered_buckets(*p.reduction, p.shape, 0),
            (std::vector<simulators::stream_use>{{0, 0, {0}, {3}}, {0, 1, {3}, {7}}}));
  EXPECT_EQ(p.replicas[0].makespan, seconds{17});
  EXPECT_EQ(simulators::reduced_buckets(p, 0),
            (std::vector<simulators::stream_use>{{0, 1, {13}, {29}}, {0, 0, {29}, {31}}}));
  EXPECT_EQ(p.step_time, seconds{31});
  EXPECT_EQ(p.bounds.back(), (bound{"stage 0: weights and gradients", {25}}));
}

TEST(Reduction, OneCopyOfTheWeightsNeedsNone) {
  const tests::bucketed_cost cost{costs::quadratic{}, {{{0, {2}, {3}}}}, {1}};
  const plan p = planned({.stages = 1}, cost, {{4}, {6}});
  EXPECT_FALSE(p.reduction);
  EXPECT_EQ(p.reduce_time, seconds{0});
  EXPECT_EQ(simulators::least_reduction(cost, p.shape), seconds{0});
}

// All schedules, chunks and shapes: a slow replay finds the same step, and no bound is above it.
TEST(Reduction, KeepsThePlanLaws) {
  int hidden = 0, tried = 0;
  for (int seed = 1; seed <= tests::cases(40); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const shape on{.stages = static_cast<int>(random.between(1, 4)),
                   .replicas = static_cast<int>(random.between(2, 4)),
                   .chunks = static_cast<int>(random.between(1, 3)),
                   .quantum = {random.between(1, 8) * 16}};
    std::vector<tokens> lengths;
    for (std::int64_t n = random.between(1, 20); n > 0; --n) lengths.push_back(random.length({4096}));
    const costs::quadratic times{.linear = 1e-6, .attention = 1e-10, .per_pack = {1e-5}, .hop = {1e-5}};
    const tests::bucketed_cost cost = tests::any_buckets(times, on, {2e-3}, random);
    const plan p = seed % 3 == 0   ? planned(on, cost, lengths, schedules::zero_bubble{})
                   : seed % 3 == 1 ? planned(on, cost, lengths, schedules::one_f_one_b{})
                                   : planned(on, cost, lengths);
    const testing::report found = testing::plan_laws(p, cost);
    EXPECT_TRUE(found) << "seed " << seed << "\n" << found;
    if (!p.reduction) continue;
    seconds all{};
    for (int stage = 0; stage < on.stages; ++stage)
      for (const auto& sum : simulators::reduced_buckets(p, stage)) all = std::max(all, sum.end - sum.begin);
    ++tried, hidden += all + cost.after > p.reduce_time;
  }
  std::printf("%d steps, in %d of them some of the longest sum is hidden\n", tried, hidden);
  EXPECT_GT(hidden, tried / 4);
}

}  // namespace
}  // namespace slimpack::reduction_test
