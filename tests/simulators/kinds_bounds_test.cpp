#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/costs/model/mixer.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/simulators/bounds/batch_quanta.hpp>
#include <slimpack/simulators/bounds/forward_bounds.hpp>
#include <slimpack/simulators/bounds/lower_bounds.hpp>
#include <slimpack/simulators/bounds/residence.hpp>
#include <slimpack/simulators/bounds/stage_loss.hpp>
#include <slimpack/testing/cost_model_laws.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"
#include "../support/drawn_batch.hpp"
#include "../support/every_merge.hpp"
#include "../support/every_plan.hpp"
#include "../support/kinds_cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

/// Bounds of layers of every kind, windows, chunks, chosen keys and states, against every plan of tiny batches.
namespace slimpack::kinds_bounds_test {
namespace {

/// How near bounds came to the best plan, and how many cases there were.
struct tally {
  double closest{};
  int borders{}, between{}, fitted{};
};

template <class Cost>
void expect_bounds(const Cost& cost, const shape& on, std::span<const sequence> batch, const std::string& where,
                   tally& all) {
  const seconds best = tests::shortest_step(cost, on, batch, true);
  all.fitted += std::isfinite(best.value);
  all.borders += has_borders(cost);
  all.between += std::any_of(batch.begin(), batch.end(), [](const sequence& s) { return s.begin.value % 10 != 0; });
  for (const bound& b : simulators::lower_bounds(cost, on, batch, rates_of(cost, on).value())) {
    EXPECT_LE(b.time.value, best.value * (1 + 1e-12)) << b.name << ", " << where;
    if (on.stages > 1) all.closest = std::max(all.closest, b.time / best);
  }
  // What packs lose, on every stage, by the memory of every stage but the last, and told of a much shorter step.
  const simulators::batch_quanta quanta(batch, on.quantum);
  for (int memory_stage = 0; memory_stage + 1 < on.stages; ++memory_stage) {
    const simulators::residence memory(cost, on, batch, quanta, rates_of(cost, on).value());
    for (int stage = 0; stage < on.stages; ++stage) {
      const simulators::stage_loss packs(cost, on, batch, quanta, stage, memory, memory_stage);
      const double least = std::isfinite(best.value) ? best.value : 1e6;
      EXPECT_LE(packs.bound({least * 0.7}).value, best.value * (1 + 1e-12))
          << "stage " << stage << ", memory of " << memory_stage << ", " << where;
    }
  }
}

/// Limits by the token leave room for the longest path, and a little more.
void no_plan_beats_the_bounds(bool forked, std::uint64_t seed) {
  testing::generator random(seed);
  tally all;
  for (int i = tests::cases(300); i > 0; --i) {
    shape on = tests::drawn_shape(random, forked);
    const forest given = tests::drawn_batch(random, on.parts() == 4 ? 2 : 3, forked);
    const batch_view batch = given;
    ASSERT_EQ(batch.fault(), std::nullopt);
    if (random.once_in(2))
      on.memory = memory_limit{memory_unit::token, static_cast<double>(batch.longest().value + random.between(0, 8))};
    const tests::kinds_cost cost(random);
    expect_bounds(cost, on, batch.sequences(), "seed " + std::to_string(seed) + ", case " + std::to_string(i), all);
  }
  EXPECT_GT(all.closest, 0.98) << "bounds are never near the best plan, seed " << seed;
  EXPECT_GT(all.borders, tests::cases(60));
  EXPECT_EQ(all.between > 0, forked);
}

TEST(LowerBounds, HoldForEveryPlanOfKindsOfLayers) { no_plan_beats_the_bounds(false, 501); }
TEST(LowerBounds, HoldForEveryPlanOfKindsOfLayersAndForests) { no_plan_beats_the_bounds(true, 502); }

// Limits in bytes, from too few for any plan to enough for most: what pieces keep is no token's, and more pieces keep
// more.
TEST(LowerBounds, HoldForEveryPlanOfStates) {
  testing::generator random(503);
  tally all;
  for (int i = tests::cases(300); i > 0; --i) {
    const bool forked = random.once_in(3);
    shape on = tests::drawn_shape(random, forked);
    const forest given = tests::drawn_batch(random, on.parts() == 4 ? 2 : 3, forked);
    const tests::state_cost cost(random);
    const double token = cost.memory(on.stages - 1)->live_token;
    on.memory = memory_limit{memory_unit::byte,
                             token * static_cast<double>(batch_view(given).longest().value + random.between(0, 60))};
    expect_bounds(cost, on, batch_view(given).sequences(), "seed 503, case " + std::to_string(i), all);
  }
  EXPECT_GT(all.closest, 0.98) << "seed 503";
  EXPECT_GT(all.fitted, tests::cases(100));
  EXPECT_LT(all.fitted, tests::cases(300)) << "some have no plan";
}

TEST(LowerBounds, HoldForEveryMergeOfKindsOfLayers) {
  testing::generator random(504);
  for (int i = tests::cases(12); i > 0; --i) {
    const shape on{.stages = 2, .replicas = 2, .quantum = {10}};
    const bool alone = random.once_in(2);
    std::vector<tokens> lengths{{random.between(11, alone ? 30 : 20)}};
    if (!alone) lengths.push_back({random.between(1, 10)});
    const std::vector<sequence> batch = batch_view(lengths).sequences();
    const tests::kinds_cost cost(random);
    const seconds shared = tests::shortest_shared_step(cost, on, batch);
    for (const bound& b : simulators::lower_bounds(cost, on, batch, rates_of(cost, on).value()))
      EXPECT_LE(b.time.value, shared.value * (1 + 1e-12)) << b.name << ", seed 504, case " << i;
  }
}

/// The least time of forward packs alone, of all that there are, by the recurrence of a flow shop.
template <class Cost>
seconds shortest_forward(const Cost& cost, const shape& on, std::span<const sequence> batch) {
  seconds best{std::numeric_limits<double>::infinity()};
  for (const micropacks& packs : tests::every_order(batch, pass::forward, on.quantum)) {
    std::vector<seconds> free(static_cast<std::size_t>(on.stages));
    for (std::size_t i = 0; i < packs.size(); ++i) {
      seconds arrived{};
      for (int stage = 0; stage < on.stages; ++stage) {
        seconds& end = free[static_cast<std::size_t>(stage)];
        end = std::max(end, arrived) + pack_time(cost, packs[i], pass::forward, stage);
        arrived = end + message_time(cost, size_of(packs[i]), pass::forward, stage);
      }
    }
    best = std::min(best, free.back());
  }
  return best;
}

TEST(ForwardBounds, HoldForEveryPlanOfKindsOfLayers) {
  testing::generator random(505);
  double closest = 0;
  for (int i = tests::cases(200); i > 0; --i) {
    const shape on{.stages = static_cast<int>(random.between(1, 4)), .quantum = {10}};
    const forest given = tests::drawn_batch(random, random.between(2, 5), random.once_in(2));
    const std::vector<sequence> batch = batch_view(given).sequences();
    const tests::kinds_cost cost(random);
    const seconds best = shortest_forward(cost, on, batch);
    for (const bound& b : simulators::forward_bounds(cost, on, batch)) {
      EXPECT_LE(b.time.value, best.value * (1 + 1e-12)) << b.name << ", seed 505, case " << i;
      closest = std::max(closest, b.time / best);
    }
  }
  EXPECT_GT(closest, 0.98) << "seed 505";
}

// Pairs in closed form are those that each token attends to.
TEST(KindsCost, HasThePairsOfEachToken) {
  testing::generator random(506);
  for (int i = tests::cases(200); i > 0; --i) {
    const slice s{{0}, {random.between(0, 60)}, {random.between(1, 60)}};
    const std::int64_t reach = random.between(1, 40);
    double window = 0, chunk = 0;
    for (std::int64_t at = s.begin.value + 1; at <= s.end().value; ++at) {
      window += static_cast<double>(std::min(at, reach));
      chunk += static_cast<double>((at - 1) % reach + 1);
    }
    EXPECT_EQ((costs::attention_span{costs::mixing::window, reach}.pairs(s)), window) << "seed 506";
    EXPECT_EQ((costs::attention_span{costs::mixing::top_k, reach}.pairs(s)), window) << "seed 506";
    EXPECT_EQ((costs::attention_span{costs::mixing::chunks, reach}.pairs(s)), chunk) << "seed 506";
    EXPECT_EQ(costs::attention_span{}.pairs(s), s.pairs()) << "seed 506";
    EXPECT_EQ((costs::attention_span{costs::mixing::delta}.pairs(s)), 0) << "seed 506";
  }
}

/// Says nothing of its borders.
struct silent : tests::state_cost {
  [[nodiscard]] bool has_borders() const { return false; }
};

// Whatever is drawn obeys the laws. Of chunks that nobody told of, the laws find most: not those that full attention of
// the same part outweighs.
TEST(KindsCost, ObeysTheLaws) {
  testing::generator random(507);
  int with = 0, found_without = 0;
  for (int i = tests::cases(40); i > 0; --i) {
    const tests::state_cost cost(random);
    const testing::options o{.cases = 20, .longest = {200}, .quantum = {10}};
    const testing::report found = testing::cost_model_laws(cost, 4, o);
    EXPECT_TRUE(found) << "seed 507, case " << i << '\n' << found;
    const bool is_found = testing::cost_model_laws(silent{cost}, 4, o).broken(3) > 0;
    EXPECT_LE(is_found, cost.has_borders()) << "seed 507, case " << i;
    with += cost.has_borders(), found_without += is_found;
  }
  EXPECT_GT(2 * found_without, with) << "seed 507";
}

}  // namespace
}  // namespace slimpack::kinds_bounds_test
