#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/simulators/bounds/lower_bounds.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"
#include "../support/drawn_batch.hpp"
#include "../support/drawn_cost.hpp"
#include "../support/every_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Bounds of samples that share beginnings: against every plan of tiny ones, and by hand.
namespace slimpack::forest_bounds_test {
namespace {

/// A second a token, two backward; two a pack, one a message.
constexpr costs::quadratic plain{.linear = 1, .attention = 0, .per_pack = {2}, .hop = {1}};

template <class Cost>
std::vector<bound> bounds_of(const Cost& cost, const shape& on, std::span<const sequence> batch) {
  return simulators::lower_bounds(cost, on, batch, rates_of(cost, on).value());
}

/// The time of the bound whose name starts so.
seconds bound_of(const shape& on, std::span<const sequence> batch, const std::string& name) {
  for (const bound& b : bounds_of(plain, on, batch))
    if (b.name.compare(0, name.size(), name) == 0) return b.time;
  ADD_FAILURE() << "no bound is named " << name;
  return {};
}

/// A root of 10 tokens, and behind it sequences of 20 and of 10.
std::vector<sequence> fork() { return {{{0}, {10}}, {{1}, {20}, {10}, {0}}, {{2}, {10}, {10}, {0}}}; }

// The oracle itself: on one stage 40 tokens take a pack of each pass, 2 + 40 and 2 + 80. On two stages without overhead
// and messages, three equal sequences, one of them before both others: as each stage has 9 to do, and either waits a
// second for the first forward, or two for the last backward of the root.
TEST(EveryPlan, FindsClosedFormsOfForks) {
  EXPECT_EQ(tests::shortest_step(plain, {.stages = 1, .quantum = {10}}, fork(), false), seconds{42 + 82});
  constexpr costs::quadratic bare{.linear = 1, .attention = 0};
  const std::vector<sequence> three{{{0}, {1}}, {{1}, {1}, {1}, {0}}, {{2}, {1}, {1}, {0}}};
  EXPECT_EQ(tests::shortest_step(bare, {.stages = 2, .quantum = {1}}, three, false), seconds{9 + 1 + 2});
}

// Each path takes its own tokens and those above: 30 of the path down to sequence 1.
//   path     fill 2 + 10 + 1, F 2 + 30, B 2 + 60 - 30, drain 1 + 2 + 20 - 10                        13 + 32 + 32 + 13
//   stage 1  fill 13, packs 4, F + B of 40 tokens, of which W may wait, and the drain or W      13 + 4 + max(120, 93)
TEST(LowerBounds, AddUpAlongAPath) {
  const shape on{.stages = 2, .quantum = {10}};
  EXPECT_EQ(bound_of(on, fork(), "path of sequence 1: there, turn and back"), seconds{13 + 32 + 32 + 13});
  EXPECT_EQ(bound_of(on, fork(), "stage 1: fill + work + drain"), seconds{13 + 4 + 120});
}

// Nothing begins before a root: sequences behind one are shorter, and fill no pipeline.
TEST(LowerBounds, FillWithTheShortestRoot) {
  const shape on{.stages = 2, .quantum = {10}};
  const std::vector<sequence> batch{{{0}, {20}}, {{1}, {2}, {20}, {0}}, {{2}, {6}}};
  EXPECT_EQ(bound_of(on, batch, "stage 1: fill + work + drain"), seconds{(2 + 6 + 1) + 4 + 84});
}

// The oracle finds what a planner finds, or better, and the planner's plan is near.
TEST(EveryPlan, MissesNoPlanOfAForest) {
  testing::generator random(212);
  double furthest = 0;
  for (int i = tests::cases(30); i > 0; --i) {
    const shape on{.stages = static_cast<int>(random.between(1, 3)), .quantum = {10}};
    const forest given = tests::drawn_batch(random, 3, true);
    const costs::quadratic cost{
        .linear = 1, .attention = 0.05 * random.ratio(), .per_pack = {random.ratio()}, .hop = {1}};
    const plan made = planner{on, slicers::equal_cost{}, cost}(given).value();
    const seconds best = tests::shortest_step(cost, on, batch_view(given).sequences(), false);
    EXPECT_GE(made.step_time.value, best.value * (1 - 1e-12)) << "seed 212, case " << i;
    furthest = std::max(furthest, made.step_time / best);
  }
  EXPECT_LT(furthest, 1.25) << "seed 212";
}

TEST(LowerBounds, HoldForEveryPlanOfForests) {
  testing::generator random(211);
  double closest = 0;  // of a bound to the best plan where there is something to lose
  int forked = 0;
  for (int i = tests::cases(300); i > 0; --i) {
    shape on{.stages = static_cast<int>(random.between(1, 3)), .chunks = random.once_in(4) ? 2 : 1, .quantum = {10}};
    if (on.parts() > 4) on.stages = 2;
    const forest given =
        tests::drawn_batch(random, on.parts() == 4 ? 2 : random.between(3, on.parts() == 1 ? 4 : 3), true);
    const batch_view made = given;
    ASSERT_EQ(made.fault(), std::nullopt);
    const std::vector<sequence> batch = made.sequences();
    for (std::uint32_t s = 0; s < batch.size(); ++s)
      forked += std::count(given.parents.begin(), given.parents.end(), sequence_id{s}) > 1;
    if (random.once_in(2))
      on.memory = memory_limit{memory_unit::token, static_cast<double>(made.longest().value + random.between(0, 8))};
    const tests::drawn_cost cost(random);
    const seconds best = tests::shortest_step(cost, on, batch, true);
    for (const bound& b : bounds_of(cost, on, batch)) {
      EXPECT_LE(b.time.value, best.value * (1 + 1e-12)) << b.name << ", seed 211, case " << i;
      if (on.stages > 1) closest = std::max(closest, b.time / best);
    }
  }
  EXPECT_GT(closest, 0.98) << "bounds are never near the best plan, seed 211";
  EXPECT_GT(forked, tests::cases(10));
}

}  // namespace
}  // namespace slimpack::forest_bounds_test
