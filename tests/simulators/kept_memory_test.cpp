#include <slimpack/planner.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/plan_graphs.hpp>
#include <slimpack/solvers/forward.hpp>
#include <slimpack/testing/naive.hpp>
#include <slimpack/testing/plan_laws.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"
#include "../solvers/batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace slimpack::kept_memory_test {
namespace {

using testing::dense_cost;

micropacks packed(const std::vector<slice>& one_a_pack) {
  micropacks packs;
  for (const slice& s : one_a_pack) {
    packs.push(s);
    packs.close();
  }
  return packs;
}

workload priced(const partition& packs, const dense_cost& cost, const shape& on) {
  return price(packs, cost, on, rates_of(cost, on).value());
}

// Pieces [0, 128) and [128, 256) keep 128 x 128 + 128 x 256 = 49152 scores beside 256 live tokens of 1 byte.
TEST(KeptMemory, IsThatOfPiecesWhicheverPassCuts) {
  const micropacks whole = packed({{{0}, {0}, {256}}});
  const dense_cost cost{{}, {1}};
  const workload forward_cut = priced({packed({{{0}, {0}, {128}}, {{0}, {128}, {128}}}), whole}, cost, {});
  const std::vector<program> two_then_one{
      {{instruction_kind::forward, {0}}, {instruction_kind::forward, {1}}, {instruction_kind::backward, {0}}}};
  EXPECT_EQ(simulators::peak_memory(forward_cut, two_then_one), std::vector<double>{49152 + 256});
  const workload backward_cut = priced({whole, packed({{{0}, {128}, {128}}, {{0}, {0}, {128}}})}, cost, {});
  const std::vector<program> one_then_two{
      {{instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}, {instruction_kind::backward, {1}}}};
  EXPECT_EQ(simulators::peak_memory(backward_cut, one_then_two), std::vector<double>{49152 + 256});
}

// Uncut, the sequence keeps 256 x 256 = 65536 scores; stage 1 keeps twice as many.
TEST(KeptMemory, IsEachStagesOwn) {
  const micropacks whole = packed({{{0}, {0}, {256}}});
  const program both{{instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}};
  const workload work = priced({whole, whole}, dense_cost{{}, {1}}, {.stages = 2});
  EXPECT_EQ(simulators::peak_memory(work, std::vector<program>{both, both}), (std::vector<double>{65792, 131328}));
}

TEST(KeptMemory, CountsFractionsAsWholeBytesAndEndsAtZero) {
  const micropacks packs = packed({{{0}, {0}, {3}}, {{1}, {0}, {5}}});  // 9 and 25 scores of 0.3 bytes: 2.7, 7.5
  const workload work = priced({packs, packs}, dense_cost{{}, {0.3}}, {});
  EXPECT_EQ(work.times.kept.forward, (std::vector<double>{0, 3, 11}));
  EXPECT_EQ(work.kept(0, 2, 1), 8);
  EXPECT_EQ(work.kept(0, 2, 2), 0);
}

TEST(KeptMemory, IsNotCountedInTokens) {
  const micropacks packs = packed({{{0}, {0}, {256}}});
  const workload work = priced({packs, packs}, dense_cost{{}, {1}}, {.memory = memory_limit{memory_unit::token, 256}});
  EXPECT_TRUE(work.times.kept.forward.empty());
}

TEST(KeptMemory, OfCostModelsWithoutItIsNothing) {
  const micropacks packs = packed({{{0}, {0}, {256}}});
  const workload work = price({packs, packs}, costs::quadratic{}, {}, std::vector<memory_rates>(1));
  EXPECT_TRUE(work.times.kept.forward.empty());
  EXPECT_EQ(work.kept(0, 1, 0), 0);
}

TEST(KeptMemory, IsWhatASlowCountFinds) {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(tests::cases(60)); ++seed) {
    SCOPED_TRACE(seed);
    testing::generator random(seed);
    testing::random_replica made = testing::any_replica({.longest = {16384}, .chunks = 3}, random);
    testing::keep_scores(made, random);
    const std::vector<program> programs = schedules::one_f_one_b{}.programs(made.work).value();
    const std::vector<double> peak = simulators::peak_memory(made.work, programs);
    for (std::size_t r = 0; r < programs.size(); ++r)
      EXPECT_DOUBLE_EQ(peak[r], testing::naive::peak_memory(made.packs, programs[r], made.work.rates[r],
                                                            made.work.shape, static_cast<int>(r), made.scores));
  }
}

/// A state that each piece but a sequence's first keeps from the one before.
struct state_cost : costs::quadratic {
  [[nodiscard]] static std::optional<memory_rates> memory(int /*stage*/) { return memory_rates{}; }
  [[nodiscard]] static bytes kept(const slice& piece, int /*stage*/) { return {piece.begin > tokens{} ? 300.0 : 0.0}; }
};

// The longest sequence keeps nothing as one piece, but its pieces do: four of 64 tokens, three states.
TEST(KeptMemory, OfStatesIsThatOfPiecesBehindOthers) {
  const micropacks whole = packed({{{0}, {0}, {256}}});
  const micropacks cut = packed({{{0}, {0}, {64}}, {{0}, {64}, {64}}, {{0}, {128}, {64}}, {{0}, {192}, {64}}});
  const program cuts{{instruction_kind::forward, {0}},
                     {instruction_kind::forward, {1}},
                     {instruction_kind::forward, {2}},
                     {instruction_kind::forward, {3}},
                     {instruction_kind::backward, {0}}};
  const workload work = price({cut, whole}, state_cost{}, {}, rates_of(state_cost{}, {}).value());
  EXPECT_EQ(simulators::peak_memory(work, std::vector<program>{cuts}), std::vector<double>{3 * 300 + 256});
  EXPECT_TRUE(price({whole, whole}, costs::quadratic{}, {}, std::vector<memory_rates>(1)).times.kept.forward.empty());
}

const std::vector<tokens> mixed = tests::lengths_of({4096, 300, 3000, 2000, 128, 700, 4000, 3500, 3000, 2500, 1});

TEST(KeptMemory, LimitsPlans) {
  const dense_cost cost{{.per_pack = {6.4e-5}, .hop = {2.4e-5}}, {2}};
  shape on{.stages = 3};
  const auto planned = [&] { return planner<slicers::equal_cost, dense_cost>{on, {}, cost}(mixed); };
  const plan free = planned().value();
  double most = 0;
  for (const double peak : free.replicas[0].peak_memory) most = std::max(most, peak);
  for (const double share : {0.9, 0.7}) {
    on.memory = memory_limit{memory_unit::byte, share * most};
    const result<plan> p = planned();
    ASSERT_TRUE(p) << share << ": " << p.error().detail;
    const testing::report found = testing::plan_laws(p.value(), cost);
    EXPECT_TRUE(found) << found;
    for (const double peak : p.value().replicas[0].peak_memory) EXPECT_LE(peak, share * most);
  }
  on.memory->amount = 0.01 * most;
  EXPECT_EQ(planned().error().code, errc::out_of_memory);
}

// Where pieces keep states, smaller packs have more of them: plans stay within the limit all the same.
TEST(KeptMemory, OfStatesLimitsPlans) {
  const state_cost cost{{.per_pack = {6.4e-5}, .hop = {2.4e-5}}};
  shape on{.stages = 3, .replicas = 2};
  const auto planned = [&] { return planner<slicers::equal_cost, state_cost>{on, {}, cost}(mixed); };
  const plan free = planned().value();
  double most = 0, kept = 0;
  for (const replica_plan& r : free.replicas) {
    for (const double peak : r.peak_memory) most = std::max(most, peak);
    ASSERT_FALSE(r.times.kept.forward.empty());
    kept = std::max(kept, r.times.kept.forward.back());
  }
  EXPECT_GT(kept, 0);
  for (const double share : {1.0, 0.8, 0.6}) {
    on.memory = memory_limit{memory_unit::byte, share * most};
    const result<plan> p = planned();
    ASSERT_TRUE(p) << share << ": " << p.error().detail;
    const testing::report found = testing::plan_laws(p.value(), cost);
    EXPECT_TRUE(found) << found;
    for (const replica_plan& r : p.value().replicas)
      for (const double peak : r.peak_memory) EXPECT_LE(peak, share * most);
  }
}

TEST(KeptMemory, ComesBackWithAReplicasWorkload) {
  const plan p = planner<slicers::equal_cost, dense_cost>{{.stages = 3}, {}, {{}, {2}}}(mixed).value();
  EXPECT_EQ(simulators::peak_memory(simulators::workload_of(p, 0), p.replicas[0].programs), p.replicas[0].peak_memory);
}

// Forward alone, what a sequence keeps goes with its last forward; also in a plan's own account of it. Two packs of a
// row of two sequences: the first lets go of none, the second of 2 x (128 x 128 + 128 x 256) and 2 x 128 x 128 bytes.
TEST(KeptMemory, GoesWithTheLastForwardWhereForwardsRunAlone) {
  partition packs;
  packs.forward.append({{0}, {0}, {128}}), packs.forward.close();
  packs.forward.append({{0}, {128}, {128}}), packs.forward.append({{1}, {0}, {128}}), packs.forward.close();
  const workload work = priced(packs, dense_cost{{}, {2}}, {});
  EXPECT_EQ(work.ended_kept(0, 0), 0);
  EXPECT_EQ(work.ended_kept(1, 0), 2 * (128 * 128 + 128 * 256 + 128 * 128));
  const plan p =
      planner<slicers::equal_cost, dense_cost>{{.stages = 3, .replicas = 2}, {}, {{}, {2}}}.plan_forward(mixed).value();
  for (std::size_t r = 0; r < 2; ++r) {
    ASSERT_FALSE(p.replicas[r].times.kept.forward.empty());
    EXPECT_EQ(simulators::peak_memory(simulators::workload_of(p, r), p.replicas[r].programs),
              p.replicas[r].peak_memory);
  }
}

TEST(KeptMemory, LeavesPlansOfTheSameTimesUnlimitedAlone) {
  const plan dense = planner<slicers::equal_cost, dense_cost>{{.stages = 3}, {}, {{}, {2}}}(mixed).value();
  EXPECT_EQ(dense.replicas[0].partition, planner{{.stages = 3}}(mixed).value().replicas[0].partition);
}

}  // namespace
}  // namespace slimpack::kept_memory_test
