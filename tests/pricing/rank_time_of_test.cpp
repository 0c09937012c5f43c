#include <slimpack/basic_planner.hpp>
#include <slimpack/pricing/rank_time_of.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::rank_time_of_test {
namespace {

/// Stage 1 takes twice as long as stage 0, a pass back twice as long as forward; stage 1 computes a token for 1 s
/// again. A row that is shared takes 3 s more on each stage and pass.
struct uneven {
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    return useful(s, p, part) + seconds{p == pass::backward && part == 1 ? static_cast<double>(s.length.value) : 0};
  }
  [[nodiscard]] seconds useful(const slice& s, pass p, int part) const {
    return {static_cast<double>(s.length.value) * (part + 1) * (p == pass::backward ? 2 : 1)};
  }
  [[nodiscard]] seconds overhead(pass, int) const { return {1}; }
  [[nodiscard]] seconds exchange(const shared_row&, std::span<const slice>, pass, int) const { return {3}; }
  [[nodiscard]] seconds reduce_time() const { return {5}; }
};

constexpr pass both[]{pass::forward, pass::backward};

// Stage 0 runs F for 4 + 1 s and B for 8 + 1 s, stage 1 F for 8 + 1 s and B for 16 + 4 + 1 s: 44 s, one after the
// other.
TEST(RankTimeOf, SplitsAStepByHand) {
  const std::vector<tokens> one{{4}};
  const plan p = basic_planner{shape{.stages = 2, .quantum = {4}},
                               slicers::whole{},
                               uneven{},
                               solvers::two_phase{},
                               schedules::list{},
                               simulators::sweep{}}(one)
                     .value();
  EXPECT_EQ(p.step_time, seconds{44});
  EXPECT_EQ(p.rank_time, (rank_time{.useful = {36},
                                    .recomputation = {4},
                                    .packs = {4},
                                    .communication = {0},
                                    .imbalance = {30 - 14},
                                    .waiting = {2 * (44 - 30)}}));
  EXPECT_EQ(p.rank_time->total(), seconds{88});
}

/// Waits a quarter of its useful time for the other ranks of a stage.
struct waiting_inside : uneven {
  [[nodiscard]] seconds collectives(const slice& s, pass p, int part) const { return useful(s, p, part) * 0.25; }
};

// The step by hand again: of 36 s of useful work 9 are collectives, and the bubble is as before.
TEST(RankTimeOf, TellsCollectivesFromUsefulWork) {
  const std::vector<tokens> one{{4}};
  const auto planned = [&](const auto& cost) {
    return basic_planner{shape{.stages = 2, .quantum = {4}},
                         slicers::whole{},
                         cost,
                         solvers::two_phase{},
                         schedules::list{},
                         simulators::sweep{}}(one)
        .value();
  };
  const plan p = planned(waiting_inside{}), without = planned(uneven{});
  rank_time expected = *without.rank_time;
  expected.useful = {27}, expected.collectives = {9};
  EXPECT_EQ(p.rank_time, expected);
  EXPECT_EQ(p.bubble, without.bubble);
  EXPECT_EQ(p.hash, without.hash);
  EXPECT_DOUBLE_EQ(useful_share(p), 27.0 / 88);
  const testing::report laws = testing::plan_laws(p, waiting_inside{});
  EXPECT_TRUE(laws) << laws;
}

// Two replicas of one stage have 8 tokens each of a sequence of 16, and reduce for 5 s.
TEST(RankTimeOf, CountsExchangesAndTheReduction) {
  plan p;
  p.lengths = {{16}};
  p.shape = {.stages = 1, .replicas = 2, .quantum = {8}};
  p.reduce_time = {5};
  p.replicas.resize(2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    replica_plan& one = p.replicas[r];
    for (const pass way : both) {
      one.partition.of(way).append({{0}, {8 * r}, {8}});
      one.partition.of(way).close();
    }
    one.times.calls[pass::forward] = {seconds{8 + 1 + 3}}, one.times.calls[pass::backward] = {seconds{16 + 1 + 3}},
    one.times.communication = {6};
    one.programs = {{{instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}}};
  }
  p.step_time = {32 + 5};
  const rank_time spent = rank_time_of(p, uneven{});
  EXPECT_EQ(spent, (rank_time{.useful = {48},
                              .recomputation = {0},
                              .packs = {4},
                              .communication = {2 * 6 + 2 * 5},
                              .imbalance = {0},
                              .waiting = {0}}));
  EXPECT_EQ(spent.total(), p.step_time * 2);
}

// The step by hand, whose stage 0 waits 6 s for its weights: stages are as uneven as before, and stage 1 idles 6 s
// more.
TEST(RankTimeOf, DoesNotTakeWaitingForWeightsForWork) {
  plan p;
  p.lengths = {{4}};
  p.shape = {.stages = 2, .quantum = {4}};
  p.step_time = {44 + 6};
  replica_plan& one = p.replicas.emplace_back();
  for (const pass way : both) {
    one.partition.of(way).append({{0}, {0}, {4}});
    one.partition.of(way).close();
  }
  one.times.calls[pass::forward] = {seconds{5 + 6}, seconds{9}},
  one.times.calls[pass::backward] = {seconds{9}, seconds{21}};
  one.times.communication = {6}, one.times.weight_waits = {seconds{6}, seconds{0}};
  one.programs = {{{instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}},
                  {{instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}}};
  EXPECT_EQ(rank_time_of(p, uneven{}), (rank_time{.useful = {36},
                                                  .recomputation = {4},
                                                  .packs = {4},
                                                  .communication = {6},
                                                  .imbalance = {30 - 14},
                                                  .waiting = {2 * 50 - 50 - 16}}));
}

TEST(RankTimeOf, AddsUpForPlansThatShare) {
  const std::vector<tokens> lengths{{9000}, {300}, {700}, {128}, {1500}};
  const shape on{.stages = 2, .replicas = 2, .quantum = {128}};
  const plan p =
      basic_planner{
          on, slicers::equal_cost{}, uneven{}, solvers::two_phase{}, schedules::list{}, simulators::sweep{}}(lengths)
          .value();
  ASSERT_FALSE(p.merges.empty());
  EXPECT_GT(p.rank_time->communication, p.reduce_time * 4);
  const testing::report laws = testing::plan_laws(p, uneven{});
  EXPECT_TRUE(laws) << laws;
}

}  // namespace
}  // namespace slimpack::rank_time_of_test
