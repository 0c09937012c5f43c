#include <slimpack/costs/quadratic.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/simulators/bounds/batch_quanta.hpp>
#include <slimpack/simulators/bounds/residence.hpp>
#include <slimpack/simulators/bounds/stage_loss.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"
#include "../support/every_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace slimpack::stage_loss_test {
namespace {

/// The bound of a stage, by what the memory of another forces.
seconds bound_of(const costs::quadratic& cost, const shape& on, const std::vector<tokens>& lengths, int stage,
                 int memory_stage, seconds from) {
  const std::vector<sequence> batch = batch_view(lengths).sequences();
  const simulators::batch_quanta all(batch, on.quantum);
  const std::vector<memory_rates> rates = rates_of(cost, on).value();
  const simulators::residence memory(cost, on, batch, all, rates);
  return simulators::stage_loss(cost, on, batch, all, stage, memory, memory_stage).bound(from);
}

const std::vector<tokens> four{{10}, {10}, {10}, {10}};

// Where packs cost nothing besides, memory forces none: stage 1 waits 10 s for its first quantum, and has 40 x 3 s of
// work. Stage 0 waits for nothing. Of two replicas, each has half of the work.
TEST(StageLoss, IsTheFillWherePacksCostNothing) {
  constexpr costs::quadratic cost{.linear = 1, .attention = 0};
  shape on{.stages = 2, .quantum = {10}};
  EXPECT_NEAR(bound_of(cost, on, four, 1, 0, {125}).value, 130, 1e-3);
  EXPECT_NEAR(bound_of(cost, on, four, 0, 0, {100}).value, 120, 1e-3);
  on.replicas = 2;
  EXPECT_NEAR(bound_of(cost, on, four, 1, 0, {60}).value, 70, 1e-3);
}

// Another bound may say more than packs do.
TEST(StageLoss, IsNoLessThanTheStepThatItIsTold) {
  constexpr costs::quadratic cost{.linear = 1, .attention = 0};
  EXPECT_GE(bound_of(cost, {.stages = 2, .quantum = {10}}, four, 1, 0, {200}), seconds{200});
}

// At the least a pack of each pass, 2 s each, the fill of 12 s, and of what must follow the last backward on stage 0
// the less: its way, or weight gradients in an instruction of their own, 2 s: 120 + 12 + 4 + 2.
TEST(StageLoss, CountsThePacksOfTheEnds) {
  constexpr costs::quadratic cost{.linear = 1, .attention = 0, .per_pack = {2}};
  EXPECT_GE(bound_of(cost, {.stages = 2, .quantum = {10}}, four, 1, 0, {130}).value, 138 * (1 - 2e-6));
}

TEST(StageLoss, GrowsAsMemoryShrinks) {
  constexpr costs::quadratic cost{.linear = 1, .attention = 0, .per_pack = {2}};
  shape on{.stages = 2, .quantum = {10}};
  seconds last = bound_of(cost, on, four, 1, 0, {130});
  for (const double limit : {40, 30, 20, 12}) {
    on.memory = memory_limit{memory_unit::token, limit};
    const seconds now = bound_of(cost, on, four, 1, 0, {130});
    EXPECT_GE(now.value, last.value * (1 - 2e-6)) << limit;
    last = now;
  }
  EXPECT_GT(last, bound_of(cost, {.stages = 2, .quantum = {10}}, four, 1, 0, {130}));
}

// On every stage, by the memory of every stage but the last, and told of much shorter steps: no plan there is takes
// less.
TEST(StageLoss, HoldsForEveryPlan) {
  testing::generator random(301);
  double closest = 0;
  for (int i = tests::cases(60); i > 0; --i) {
    shape on{.stages = static_cast<int>(random.between(2, 3)), .replicas = random.once_in(3) ? 2 : 1, .quantum = {10}};
    const costs::quadratic cost{.linear = 1,
                                .attention = random.once_in(2) ? 0.05 * random.ratio() : 0,
                                .backward_linear = 0.5 + 3 * random.ratio(),
                                .per_pack = {3 * random.ratio()},
                                .hop = {random.once_in(2) ? 0 : 3 * random.ratio()}};
    std::vector<tokens> lengths;
    for (std::int64_t quanta = 3; quanta > 0;) {
      const std::int64_t own = random.between(1, quanta);
      lengths.push_back({10 * own - (random.once_in(2) ? random.between(0, 9) : 0)});
      quanta -= own;
    }
    const tokens longest = *std::max_element(lengths.begin(), lengths.end());
    if (random.once_in(2))
      on.memory = memory_limit{memory_unit::token, static_cast<double>(longest.value + random.between(0, 8))};
    const seconds best = tests::shortest_step(cost, on, batch_view(lengths).sequences(), true);
    for (int stage = 0; stage < on.stages; ++stage)
      for (int memory_stage = 0; memory_stage + 1 < on.stages; ++memory_stage) {
        const seconds found = bound_of(cost, on, lengths, stage, memory_stage, best * 0.7);
        EXPECT_LE(found.value, best.value * (1 + 1e-12))
            << "stage " << stage << ", memory of " << memory_stage << ", seed 301, case " << i;
        closest = std::max(closest, found / best);
      }
  }
  EXPECT_GT(closest, 0.9) << "the bound is never near the best plan, seed 301";
}

}  // namespace
}  // namespace slimpack::stage_loss_test
