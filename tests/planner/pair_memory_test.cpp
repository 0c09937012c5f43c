#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/soundness/is_sound.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/baselines/slimpipe.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include "../laws/cases.hpp"
#include "../support/random_forest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace slimpack::pair_memory_test {
namespace {

/// Whose running packs hold bytes for their pairs, beside all that stages hold otherwise.
struct dense_bytes : costs::quadratic {
  double forward_pair{};
  double backward_pair{};

  [[nodiscard]] std::optional<memory_rates> memory(int stage) const {
    return memory_rates{.fixed = 1000.0 * stage,
                        .live_token = 40,
                        .gradient_token = 10,
                        .backward_token = 3,
                        .other_token = 8,
                        .lent_token = 8,
                        .forward_pair = forward_pair,
                        .backward_pair = backward_pair};
  }
};

dense_bytes any_cost(testing::generator& random) {
  dense_bytes cost;
  cost.per_pack = {1e-4 * random.ratio()}, cost.hop = {1e-4 * random.ratio()};
  cost.forward_pair = 0.25 * static_cast<double>(random.between(0, 8));
  cost.backward_pair = static_cast<double>(random.between(0, 3)) / 3;
  return cost;
}

const solvers::two_phase quick{
    .effort = solvers::search_budget::fast(), .exchanges = exchange_set::all(), .threads = 1};

std::int64_t pairs_seen(const plan& p) {
  double most = 0;
  for (const replica_plan& r : p.replicas)
    for (const pass way : both_passes)
      for (std::size_t i = 0; i < r.partition.of(way).size(); ++i)
        most = std::max(most, dense_pairs_of(r.partition.of(way)[i]));
  return static_cast<std::int64_t>(most);
}

void expect_sound(const plan& p, const dense_bytes& cost, const std::string& where) {
  const result<void> sound = is_sound(p);
  EXPECT_TRUE(sound) << where << ": " << sound.error().detail;
  const testing::report laws = testing::plan_laws(p, cost);
  EXPECT_TRUE(laws) << where << "\n" << laws;
  EXPECT_LE(p.lower_bound.value, p.step_time.value * (1 + 1e-12)) << where;
  if (!p.shape.memory) return;
  for (const replica_plan& r : p.replicas)
    for (const double peak : r.peak_memory) EXPECT_LE(peak, p.shape.memory->amount * (1 + 1e-12)) << where;
}

// Plans with a limit that is as much as the free plan holds, and less: what is made fits by a count slice by slice, and
// what is refused lacks memory. Replicas share what is long.
TEST(PairMemory, IsInPeaksAndLimitsOfRandomPlans) {
  testing::generator random(77);
  int made = 0, shared = 0, trees = 0, refused = 0;
  for (int round = 0; round < tests::cases(12); ++round) {
    const std::string where = "seed 77, round " + std::to_string(round);
    const dense_bytes cost = any_cost(random);
    const tests::random_forest grown(random, {.children = 6});
    std::vector<tokens> flat;
    for (std::int64_t n = random.between(1, 16); n > 0; --n) flat.push_back(random.length({3000}));
    const bool tree = random.once_in(2);
    const batch_view batch = tree ? batch_view(grown) : batch_view(flat, {});
    shape on{.stages = static_cast<int>(random.between(1, 4)), .replicas = static_cast<int>(random.between(1, 3))};
    on.chunks = random.once_in(4) && on.stages > 1 ? 2 : 1;
    on.quantum = {64};
    const basic_planner free{on, slicers::equal_cost{}, cost, quick, schedules::list{}, simulators::sweep{}};
    const plan first = free(batch).value();
    expect_sound(first, cost, where);
    EXPECT_GT(pairs_seen(first), 0);
    double most = 0;
    for (const replica_plan& r : first.replicas)
      for (const double peak : r.peak_memory) most = std::max(most, peak);
    for (const double share : {1.0, 0.6, 0.25}) {
      on.memory = memory_limit{memory_unit::byte, most * share};
      const basic_planner within{on, slicers::equal_cost{}, cost, quick, schedules::list{}, simulators::sweep{}};
      const result<plan> fitting = within(batch);
      if (!fitting) {
        EXPECT_EQ(fitting.error().code, errc::out_of_memory) << where << ": " << fitting.error().detail;
        ++refused;
        continue;
      }
      expect_sound(fitting.value(), cost, where + ", of " + std::to_string(share));
      ++made, shared += !fitting.value().merges.empty(), trees += tree;
    }
    on.memory.reset();
  }
  std::cout << made << " plans within limits, " << shared << " with shared sequences, " << trees << " of forests, "
            << refused << " refused\n";
  EXPECT_GT(made, 0);
}

// A backward of 4 bytes a pair holds 4 x 4096^2 bytes for the longest sequence in one slice: half of that is a limit
// that whole packs do not keep, and cut ones do. What does not fit at all is refused in bytes.
TEST(PairMemory, MakesNoPackThatDoesNotFit) {
  dense_bytes cost;
  cost.backward_pair = 4;
  const std::vector<tokens> lengths{{4096}, {100}, {700}};
  shape on{.stages = 2, .quantum = {128}, .memory = memory_limit{memory_unit::byte, 2.0 * 4096 * 4096}};
  const basic_planner whole{
      on, slicers::whole{}, cost, solvers::megatron{}, schedules::one_f_one_b{.lead = 1}, simulators::sweep{}};
  const result<plan> uncut = whole(lengths);
  ASSERT_FALSE(uncut);
  EXPECT_EQ(uncut.error().code, errc::out_of_memory);
  const basic_planner cut{on, slicers::equal_cost{}, cost, quick, schedules::list{}, simulators::sweep{}};
  const plan p = cut(lengths).value();
  expect_sound(p, cost, "half of the longest in one");
  for (std::size_t i = 0; i < p.replicas[0].partition.backward.size(); ++i)
    EXPECT_LT(4 * dense_pairs_of(p.replicas[0].partition.backward[i]), on.memory->amount);
  on.memory->amount = 4.0 * 128 * 4096;  // a last slice alone, without its tokens
  const basic_planner least{on, slicers::equal_cost{}, cost, quick, schedules::list{}, simulators::sweep{}};
  const result<plan> none = least(lengths);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, errc::out_of_memory) << none.error().detail;
}

// What the least that a path holds says must never refuse what a plan needs less for: own tokens of the last sequence
// are what attends, not a quantum of the path.
TEST(PairMemory, OfAPathCountsTheLastSequenceAlone) {
  const memory_rates r{.live_token = 1, .forward_pair = 1};
  EXPECT_EQ(solvers::least_held(r, {.quantum = {128}}, {1024}), 1024 + 128 * 1024);
  EXPECT_EQ(solvers::least_held(r, {.quantum = {128}}, {1024}, {10}), 1024 + 10 * 1024);
  EXPECT_EQ(solvers::least_held({.backward_pair = 1}, {.quantum = {128}}, {1000}), 1000 + 104 * 1000);
}

// Stages that lend each other attention hold the pairs of what is lent to them.
TEST(PairMemory, HoldsWhatIsLent) {
  dense_bytes cost;
  cost.forward_pair = 1, cost.backward_pair = 2;
  const shape on{.stages = 3, .quantum = {16}};
  const auto recipe = baselines::slimpipe(on, {}, 6, attention_lending::level);
  const basic_planner plan_batch{on, recipe.slicer, cost, recipe.solver, recipe.schedule, simulators::sweep{}};
  const std::vector<tokens> lengths{{900}, {400}, {300}};
  const plan p = plan_batch(lengths).value();
  EXPECT_FALSE(p.replicas[0].loans.empty());
  expect_sound(p, cost, "slimpipe");
}

}  // namespace
}  // namespace slimpack::pair_memory_test
