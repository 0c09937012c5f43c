#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/bounds/forward_bounds.hpp>
#include <slimpack/simulators/bounds/lower_bounds.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/baselines/dp_balanced.hpp>
#include <slimpack/solvers/baselines/karmarkar_karp.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/testing/generator.hpp>

#include "../costs/models.hpp"
#include "../laws/cases.hpp"
#include "../support/drawn_cost.hpp"
#include "../support/every_merge.hpp"
#include "../support/every_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace slimpack::lower_bounds_test {
namespace {

/// A second a token, two backward; two a pack, one a message.
constexpr costs::quadratic plain{.linear = 1, .attention = 0, .per_pack = {2}, .hop = {1}};

/// Everything that a cost model may do to a bound: parts of different speed, messages that grow, packs that take at
/// least so long, a reduction.
struct crooked : costs::quadratic {
  crooked() : quadratic{.linear = 1, .attention = 0.03, .per_pack = {1.5}} {}
  [[nodiscard]] static double weight(int part) { return part % 2 == 0 ? 1 : 1.7; }
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    return quadratic::time(s, p, part) * weight(part);
  }
  [[nodiscard]] seconds time(std::span<const slice> pack, pass p, int part) const {
    seconds sum{};
    for (const slice& s : pack) sum += time(s, p, part);
    return overhead(p, part) + std::max(sum, seconds{9});
  }
  [[nodiscard]] seconds weight_time(const slice& s, int part) const {
    return quadratic::weight_time(s, part) * weight(part);
  }
  [[nodiscard]] seconds message(tokens n, pass, int part) const {
    return {0.5 + 0.1 * static_cast<double>(n.value * (part + 1))};
  }
};

std::vector<sequence> batch_of(const std::vector<tokens>& lengths) { return batch_view(lengths).sequences(); }

template <class Cost>
std::vector<bound> bounds_of(const Cost& cost, const shape& on, std::span<const sequence> batch) {
  return simulators::lower_bounds(cost, on, batch, rates_of(cost, on).value());
}

/// The time of the bound whose name starts so.
template <class Cost>
seconds bound_of(const Cost& cost, const shape& on, const std::vector<tokens>& lengths, const std::string& name) {
  for (const bound& b : bounds_of(cost, on, batch_of(lengths)))
    if (b.name.compare(0, name.size(), name) == 0) return b.time;
  ADD_FAILURE() << "no bound is named " << name;
  return {};
}

// Sequences of 10 and 20 tokens on two stages; the first slice of the shortest is 10 tokens: F 10, B 20, of it W 10.
//   stage 0   packs 2 + 2, F + B of 30 tokens                                      4 + 90 = 94
//   stage 1   fill 2 + 10 + 1, packs 4, and the larger of F + B + W 90 and F + B 60 with the drain 1 + 2 + 20 - 10
//                                                                            13 + 4 + 90 = 107
//   chain     of 20 tokens: fill 13, F 2 + 20, B 2 + 40 - 20, drain 13              70
TEST(LowerBounds, AddUpOnTwoStages) {
  const shape on{.stages = 2, .quantum = {10}};
  const std::vector<bound> bounds = bounds_of(plain, on, batch_of({{10}, {20}}));
  ASSERT_EQ(bounds.size(), 4u);
  EXPECT_EQ(bounds[0], (bound{"stage 0: fill + work + drain", {94}}));
  EXPECT_EQ(bounds[1], (bound{"stage 1: fill + work + drain", {107}}));
  EXPECT_EQ(bounds[2].name, "stage 1: fill + work + packs + drain");
  EXPECT_EQ(bounds[3], (bound{"sequence 1: there, turn and back", {70}}));
}

// One sequence of 10 tokens on three stages. Stage 2: fill 2 (2 + 10 + 1), packs 4, F + B - W 20, drain 2 (1 + 2 + 10)
// = 76, for the drain outlasts W. Stage 1: 13 + 4 + 20 + 13 = 50, stage 0: 4 + 30 = 34.
TEST(LowerBounds, CountTheDrainWhereItOutlastsTheWeightGradients) {
  const shape on{.stages = 3, .quantum = {10}};
  EXPECT_EQ(bound_of(plain, on, {{10}}, "stage 0: fill + work + drain"), seconds{34});
  EXPECT_EQ(bound_of(plain, on, {{10}}, "stage 1: fill + work + drain"), seconds{50});
  EXPECT_EQ(bound_of(plain, on, {{10}}, "stage 2: fill + work + drain"), seconds{76});
  EXPECT_EQ(bound_of(plain, on, {{10}}, "sequence 0"), seconds{76});
}

// Nothing can arrive on stage 1 before the shortest sequence, 4 tokens of a quantum of 10: fill 2 + 4 + 1, packs 4, 24
// tokens 72.
TEST(LowerBounds, FillWithTheShortestSequence) {
  EXPECT_EQ(bound_of(plain, {.stages = 2, .quantum = {10}}, {{20}, {4}}, "stage 1: fill + work + drain"),
            seconds{7 + 4 + 72});
}

// Two replicas share 90 s of work: 13 + 4 + max(45, 30 + 13) = 62 on stage 1. A merge may share the longest sequence:
// fill 13, packs 4, half of F 20 and B 40 - 20, drain 13.
TEST(LowerBounds, ShareWorkOverReplicas) {
  const shape on{.stages = 2, .replicas = 2, .quantum = {10}};
  EXPECT_EQ(bound_of(plain, on, {{10}, {20}}, "stage 0: fill + work + drain"), seconds{4 + 45});
  EXPECT_EQ(bound_of(plain, on, {{10}, {20}}, "stage 1: fill + work + drain"), seconds{62});
  EXPECT_EQ(bound_of(plain, on, {{10}, {20}}, "sequence 1"), seconds{13 + 4 + 20 + 13});
}

// Two chunks on one stage: both chunks' work and packs, 2 (90 + 4), and fill and drain before part 0 are nothing.
TEST(LowerBounds, AddUpTheChunksOfAStage) {
  const shape on{.chunks = 2, .quantum = {10}};
  EXPECT_EQ(bounds_of(plain, on, batch_of({{10}, {20}}))[0].time, seconds{188});
}

TEST(LowerBounds, AreNoneForAnEmptyBatch) { EXPECT_TRUE(bounds_of(plain, {}, {}).empty()); }

// A plan's bounds are read by their names: each has one, also of a model without times.
TEST(LowerBounds, HaveNamesWhereNothingTakesTime) {
  const costs::quadratic none{.linear = 0, .attention = 0};
  const shape on{.stages = 2, .replicas = 2};
  const std::vector<sequence> batch = batch_of({{2000}, {1500}});
  const std::vector<memory_rates> rates(2);
  EXPECT_EQ(simulators::lower_bounds(none, on, batch, rates).back(), (bound{"sequence 0: there, turn and back", {}}));
  EXPECT_EQ(simulators::forward_bounds(none, on, batch).back(), (bound{"sequence 0: its own way", {}}));
}

// The oracle itself. One way for one slice on three stages: 3 (2 + 10) + 3 (2 + 20) + 4 hops = 106. Two equal slices on
// two stages: (m + p - 1)(f + b) = 3 x 3 without overhead or hop.
TEST(EveryPlan, FindsClosedForms) {
  EXPECT_EQ(tests::shortest_step(plain, {.stages = 3, .quantum = {10}}, batch_of({{10}}), false), seconds{106});
  constexpr costs::quadratic bare{.linear = 1, .attention = 0};
  EXPECT_EQ(tests::shortest_step(bare, {.stages = 2, .quantum = {1}}, batch_of({{1}, {1}}), false), seconds{9});
}

// Stage 1 sends its B back before it runs W: F 12, message 1, F 12, B 2 + 10, message 1; then B and W on stage 0, 22
// in one or 12 + 12 apart. Its own W, 2 + 10 more on stage 1, ends earlier.
TEST(EveryPlan, TakesWeightGradientsApart) {
  const shape on{.stages = 2, .quantum = {10}};
  EXPECT_EQ(tests::shortest_step(plain, on, batch_of({{10}}), false), seconds{12 + 1 + 12 + 22 + 1 + 22});
  EXPECT_EQ(tests::shortest_step(plain, on, batch_of({{10}}), true), seconds{12 + 1 + 12 + 12 + 1 + 24});
}

// The first B frees the first slice before the second F arrives only if memory makes it: two sequences of one slice on
// two stages take 3 x 3 together, but 2 (1 + 1 + 2 + 2) one after the other.
TEST(EveryPlan, KeepsWithinMemory) {
  constexpr costs::quadratic bare{.linear = 1, .attention = 0};
  const shape on{.stages = 2, .quantum = {1}, .memory = memory_limit{memory_unit::token, 1}};
  EXPECT_EQ(tests::shortest_step(bare, on, batch_of({{1}, {1}}), false), seconds{12});
}

// Twenty tokens on two replicas of two stages without attention, half on each: F 12 on both stages, B 22 on both, and
// two messages. Alone on one replica, in one pack: 22 + 42 instead.
TEST(EveryMerge, FindsClosedForms) {
  const shape on{.stages = 2, .replicas = 2, .quantum = {10}};
  EXPECT_EQ(tests::shortest_shared_step(plain, on, batch_of({{20}})), seconds{2 * 12 + 2 * 22 + 2});
}

template <class Cost>
void no_merge_beats_the_bounds(const Cost& cost, std::uint64_t seed) {
  testing::generator random(seed);
  for (int i = tests::cases(4); i > 0; --i) {
    const shape on{.stages = 2, .replicas = 2, .quantum = {10}};
    const bool alone = random.once_in(2);
    std::vector<tokens> lengths{{random.between(11, alone ? 30 : 20)}};
    if (!alone) lengths.push_back({random.between(1, 10)});
    const std::vector<sequence> batch = batch_of(lengths);
    const seconds shared = tests::shortest_shared_step(cost, on, batch);
    for (const bound& b : bounds_of(cost, on, batch))
      EXPECT_LE(b.time.value, shared.value * (1 + 1e-12)) << b.name << ", seed " << seed << ", case " << i;
  }
}

TEST(LowerBounds, HoldForEveryMerge) {
  no_merge_beats_the_bounds(plain, 105);
  no_merge_beats_the_bounds(costs::quadratic{.linear = 0.2, .attention = 0.05, .per_pack = {1}, .hop = {2}}, 106);
  no_merge_beats_the_bounds(crooked{}, 107);
}

// A sequence keeps its tokens for its own later slices, but not for their weight gradients, which may run last: a bound
// that counted those was beaten here.
TEST(LowerBounds, LetWeightGradientsRunLast) {
  constexpr costs::quadratic cost{.linear = 1, .attention = 0, .backward_linear = 2.96, .hop = {0.8}};
  const shape on{.stages = 2, .quantum = {10}};
  const std::vector<sequence> batch = batch_of({{25}});
  const seconds apart = tests::shortest_step(cost, on, batch, true);
  for (const bound& b : bounds_of(cost, on, batch)) EXPECT_LE(b.time, apart) << b.name;
}

template <class Cost>
void no_plan_beats_the_bounds(const Cost& cost, std::uint64_t seed) {
  testing::generator random(seed);
  for (int i = tests::cases(12); i > 0; --i) {
    const int chunks = random.once_in(5) ? 2 : 1;
    shape on{.stages = static_cast<int>(random.between(1, chunks == 2 ? 2 : 3)),
             .replicas = static_cast<int>(random.between(1, 2)),
             .chunks = chunks,
             .quantum = {10}};
    std::vector<tokens> lengths;
    std::int64_t quanta = on.parts() < 3 ? 4 : on.parts() == 3 ? 3 : 2;  // few enough to try every plan
    while (quanta > 0 && lengths.size() < 3) {
      const std::int64_t own = random.between(1, std::min<std::int64_t>(3, quanta));
      lengths.push_back({10 * own - (random.once_in(2) ? random.between(0, 9) : 0)});
      quanta -= own;
    }
    const std::vector<sequence> batch = batch_of(lengths);
    if (random.once_in(2)) {
      const tokens longest = *std::max_element(lengths.begin(), lengths.end());
      on.memory = memory_limit{memory_unit::token, static_cast<double>(longest.value + random.between(0, 10))};
    }
    const seconds whole = tests::shortest_step(cost, on, batch, false);
    const seconds apart = tests::shortest_step(cost, on, batch, true);
    EXPECT_LE(apart, whole);
    for (const bound& b : bounds_of(cost, on, batch))
      EXPECT_LE(b.time.value, apart.value * (1 + 1e-12)) << b.name << ", seed " << seed << ", case " << i;
    const schedules::one_f_one_b schedule{};
    const result<plan> made =
        planner{on, slicers::equal_cost{}, cost, solvers::chunked{.chunk = {10}}, schedule}(lengths);
    if (!made && made.error().code == errc::out_of_memory) continue;  // this planner found no plan
    ASSERT_TRUE(made) << made.error().detail;
    EXPECT_GE(made.value().step_time.value, whole.value * (1 - 1e-12)) << "the oracle misses a plan, seed " << seed;
  }
}

TEST(LowerBounds, HoldForEveryPlanOfPlainCosts) { no_plan_beats_the_bounds(plain, 101); }
TEST(LowerBounds, HoldForEveryPlanOfAttention) {
  no_plan_beats_the_bounds(costs::quadratic{.linear = 0.2, .attention = 0.05, .per_pack = {1}, .hop = {2}}, 102);
}
TEST(LowerBounds, HoldForEveryPlanOfUnevenParts) { no_plan_beats_the_bounds(crooked{}, 103); }

TEST(LowerBounds, HoldForEveryPlanOfRandomCosts) {
  testing::generator random(109);
  double closest = 0;  // of a bound to the best plan where there is something to lose
  for (int i = tests::cases(300); i > 0; --i) {
    shape on{.stages = static_cast<int>(random.between(1, 3)),
             .replicas = random.once_in(3) ? 2 : 1,
             .chunks = random.once_in(4) ? 2 : 1,
             .quantum = {10}};
    if (on.parts() > 4) on.stages = 2;
    std::vector<tokens> lengths;
    for (std::int64_t quanta = on.parts() == 4 ? 2 : 3; quanta > 0;) {
      const std::int64_t own = random.between(1, quanta);
      lengths.push_back({10 * own - (random.once_in(2) ? random.between(0, 9) : 0)});
      quanta -= own;
    }
    const std::vector<sequence> batch = batch_of(lengths);
    const tokens longest = *std::max_element(lengths.begin(), lengths.end());
    if (random.once_in(2))
      on.memory = memory_limit{memory_unit::token, static_cast<double>(longest.value + random.between(0, 8))};
    const tests::drawn_cost cost(random);
    const seconds best = tests::shortest_step(cost, on, batch, true);
    for (const bound& b : bounds_of(cost, on, batch)) {
      EXPECT_LE(b.time.value, best.value * (1 + 1e-12)) << b.name << ", seed 109, case " << i;
      if (on.stages > 1) closest = std::max(closest, b.time / best);
    }
  }
  EXPECT_GT(closest, 0.98) << "bounds are never near the best plan, seed 109";
}

// One stage, one replica: nothing can be better than to run all work in one pack of each pass.
TEST(LowerBounds, AreReachedOnOneStage) {
  const plan made = planner{shape{}, slicers::whole{}, plain, solvers::megatron{.context = {1000}},
                            schedules::one_f_one_b{}}(std::vector<tokens>{{100}, {200}, {300}})
                        .value();
  EXPECT_EQ(made.step_time, made.lower_bound);
  EXPECT_EQ(made.efficiency, 1);
}

TEST(LowerBounds, HoldForThePlansOfEveryPlanner) {
  testing::generator random(104);
  for (int i = tests::cases(10); i > 0; --i) {
    std::vector<tokens> lengths;
    for (std::int64_t n = random.between(1, 40); n > 0; --n) lengths.push_back(random.length({65536}));
    shape on{.stages = static_cast<int>(random.between(1, 6)), .replicas = static_cast<int>(random.between(1, 3))};
    const costs::quadratic cost{.attention = 4e-11 * static_cast<double>(random.between(0, 2)),
                                .per_pack = {1e-4 * random.ratio()},
                                .hop = {1e-4 * random.ratio()}};
    const schedules::one_f_one_b classic{.lead = 1};
    const auto holds = [](const result<plan>& made) {
      if (!made && made.error().code == errc::out_of_memory) return;  // this planner found no plan
      ASSERT_TRUE(made) << made.error().detail;
      EXPECT_LE(made.value().efficiency, 1 + 1e-12) << "seed 104";
      EXPECT_GT(made.value().efficiency, 0);
      for (const replica_plan& r : made.value().replicas)
        EXPECT_LE(r.lower_bound.value, r.makespan.value * (1 + 1e-12)) << "seed 104";
    };
    holds(planner{on, slicers::equal_cost{}, cost}(lengths));
    holds(
        planner{on, slicers::equal_cost{}, cost, solvers::chunked{.chunk = {4096}}, schedules::one_f_one_b{}}(lengths));
    holds(planner{on, slicers::whole{}, cost, solvers::megatron{}, classic}(lengths));
    holds(planner{on, slicers::whole{}, cost, solvers::dp_balanced{}, classic}(lengths));
    holds(planner{on, slicers::whole{}, cost, solvers::karmarkar_karp{}, classic}(lengths));
  }
}

// A model whose last part has the logits, memory in bytes, packs that take at least so long.
TEST(LowerBounds, HoldForThePlansOfATransformer) {
  testing::generator random(108);
  for (int i = tests::cases(6); i > 0; --i) {
    std::vector<tokens> lengths;
    for (std::int64_t n = random.between(1, 40); n > 0; --n) lengths.push_back(random.length({65536}));
    const int stages = 1 << random.between(1, 3);
    const shape on{.stages = stages,
                   .replicas = static_cast<int>(random.between(1, 3)),
                   .tensor = 8 / stages,
                   .chunks = random.once_in(4) ? 2 : 1,
                   .memory = memory_limit{memory_unit::byte, 7e10}};
    const auto cost = costs::transformer::sheet(tests::llama_3_1_8b(), costs::gpus::h100(), on).value();
    for (const result<plan>& made : {planner{on, slicers::equal_cost{}, cost, solvers::chunked{.chunk = {4096}},
                                             schedules::one_f_one_b{}}(lengths),
                                     planner{on, slicers::equal_cost{}, cost, solvers::chunked{.chunk = {512}},
                                             schedules::zero_bubble{}}(lengths)}) {
      if (!made && made.error().code == errc::out_of_memory) continue;
      ASSERT_TRUE(made) << made.error().detail;
      EXPECT_LE(made.value().efficiency, 1 + 1e-12) << "seed 108, case " << i;
    }
  }
}

// Ranks that divide experts, and what their all-to-alls cost, hidden or not, on links of any speed.
TEST(LowerBounds, HoldForEveryPlanOfDividedExperts) {
  testing::generator random(110);
  double closest = 0;
  for (int i = tests::cases(60); i > 0; --i) {
    const costs::gpu device{.name = "drawn",
                            .memory = {1e9},
                            .peak_bf16_flops = 1000,
                            .memory_bandwidth = 50 + 200 * random.ratio(),
                            .gpus_per_node = static_cast<int>(random.between(1, 4)),
                            .gemm_efficiency = 0.2 + random.ratio(),
                            .attention_efficiency = 0.2 + random.ratio(),
                            .backward_attention_ratio = 2.5,
                            .inside = {{random.ratio()}, 4 + 100 * random.ratio()},
                            .between = {{random.ratio()}, 1 + 20 * random.ratio()}};
    const shape on{.stages = static_cast<int>(random.between(1, 2)),
                   .replicas = 2,
                   .tensor = random.once_in(3) ? 2 : 1,
                   .expert = random.once_in(3) ? 1 : 2,
                   .quantum = {10}};
    const costs::routing how{.imbalance = 1 + random.ratio(),
                             .overlap = random.once_in(2) ? 0 : random.ratio(),
                             .nodes = static_cast<int>(random.between(0, 2))};
    const auto cost =
        costs::transformer::sheet(tests::tiny_experts(), device, on, {.launch = {random.ratio()}, .routing = how})
            .value();
    std::vector<tokens> lengths;
    for (std::int64_t quanta = on.stages == 1 ? 4 : 3; quanta > 0;) {
      const std::int64_t own = random.between(1, std::min<std::int64_t>(2, quanta));
      lengths.push_back({10 * own - (random.once_in(2) ? random.between(0, 9) : 0)});
      quanta -= own;
    }
    const std::vector<sequence> batch = batch_of(lengths);
    const seconds best = tests::shortest_step(cost, on, batch, true);
    for (const bound& b : bounds_of(cost, on, batch)) {
      EXPECT_LE(b.time.value, best.value * (1 + 1e-12)) << b.name << ", seed 110, case " << i;
      closest = std::max(closest, b.time / best);
    }
  }
  EXPECT_GT(closest, 0.9) << "bounds are never near the best plan, seed 110";
}

TEST(LowerBounds, HoldForThePlansOfDividedExperts) {
  testing::generator random(111);
  for (int i = tests::cases(6); i > 0; --i) {
    std::vector<tokens> lengths;
    for (std::int64_t n = random.between(8, 40); n > 0; --n) lengths.push_back(random.length({32768}));
    const shape on{.stages = 1 << random.between(0, 3),
                   .replicas = 8,
                   .chunks = 1,
                   .expert = 1 << random.between(1, 3),
                   .memory = memory_limit{memory_unit::byte, 7e10}};
    const costs::routing how{.imbalance = 1 + random.ratio(), .overlap = random.ratio()};
    const auto cost = costs::transformer::sheet(tests::mixtral_8x7b(), costs::gpus::h100(), on,
                                                {.recompute = costs::recompute::full, .routing = how})
                          .value();
    const result<plan> made = planner{on, slicers::equal_cost{}, cost}(lengths);
    if (!made && made.error().code == errc::out_of_memory) continue;
    ASSERT_TRUE(made) << made.error().detail;
    EXPECT_LE(made.value().efficiency, 1 + 1e-12) << "seed 111, case " << i;
  }
}

TEST(LowerBounds, AreFiniteAndNoLessThanTheWorkOfHardLists) {
  std::vector<std::vector<tokens>> lists{std::vector<tokens>(512, tokens{4096}),
                                         std::vector<tokens>(100000 / tests::one_in, tokens{1}),
                                         {{1}},
                                         {{longest_supported}},
                                         std::vector<tokens>(300, tokens{127})};
  lists.push_back(std::vector<tokens>(511, tokens{100}));
  lists.back().push_back({1 << 20});
  lists.push_back(lists.back());
  lists.back().push_back({1 << 20});
  lists.emplace_back();
  for (int i = 0; i < 20; ++i) lists.back().push_back({1 << i});
  const costs::quadratic cost{.linear = 1, .attention = 1e-5, .per_pack = {64}, .hop = {24}};
  for (const std::vector<tokens>& lengths : lists) {
    const std::vector<sequence> batch = batch_of(lengths);
    double work = 0;
    for (const sequence& s : batch)
      for (const pass p : {pass::forward, pass::backward}) work += cost.time({s.id, {0}, s.length}, p, 0).value;
    const auto longest = static_cast<double>(std::max_element(lengths.begin(), lengths.end())->value);
    for (const int replicas : {1, 64}) {
      for (const double limit : {longest, 1.25 * longest, 0.5}) {  // the last has room for no token
        const shape on{.stages = 8, .replicas = replicas, .memory = memory_limit{memory_unit::token, limit}};
        double most = 0;
        for (const bound& b : bounds_of(cost, on, batch)) {
          EXPECT_TRUE(std::isfinite(b.time.value)) << b.name;
          most = std::max(most, b.time.value);
        }
        EXPECT_GE(most, work / replicas) << lengths.size() << " sequences";
      }
    }
  }
}

}  // namespace
}  // namespace slimpack::lower_bounds_test
