#include <slimpack/core/forest/uncut.hpp>
#include <slimpack/core/soundness/is_sound.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/two_phase_with.hpp>
#include <slimpack/testing/plan_laws.hpp>
#include <slimpack/testing/rank_plan_laws.hpp>

#include "../laws/cases.hpp"
#include "../support/random_forest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::forest_test {
namespace {

const costs::quadratic pipeline_cost{.per_pack = {6e-5}, .hop = {2e-5}};
const solvers::two_phase quick{.effort = solvers::search_budget::fast(), .threads = 1};

template <class Solver, class Schedule>
auto planner_of(const shape& on, const Solver& solver, const Schedule& schedule) {
  return basic_planner{on, slicers::equal_cost{}, pipeline_cost, solver, schedule, simulators::sweep{}};
}

shape random_shape(testing::generator& random, const batch_view& batch) {
  shape on{.stages = static_cast<int>(random.between(1, 4)), .replicas = static_cast<int>(random.between(1, 4))};
  on.chunks = random.once_in(3) && on.stages > 1 ? 2 : 1;
  on.quantum = {std::int64_t{1} << random.between(0, 8)};
  if (random.once_in(2)) {
    const auto path = static_cast<double>(batch.longest().value);
    on.memory = memory_limit{memory_unit::token, path * on.chunks * (2 + 2 * random.ratio()) + 2000};
  }
  return on;
}

void expect_sound(const plan& p, const batch_view& batch, const std::string& where) {
  const result<void> sound = is_sound(p);
  EXPECT_TRUE(sound) << where << ": " << sound.error().detail;
  const testing::report laws = testing::plan_laws(p, pipeline_cost);
  EXPECT_TRUE(laws) << where << ": " << laws;
  const result<uncut_forest> from = uncut(batch_of(p), p.copies);
  ASSERT_TRUE(from) << where << ": " << from.error().detail;
  EXPECT_TRUE(std::ranges::equal(from.value().lengths, batch.lengths())) << where;
  EXPECT_LE(p.lower_bound.value, p.step_time.value * (1 + 1e-12)) << where;
}

TEST(ForestPlans, AreSoundAndNoSlowerThanFlatOnes) {
  testing::generator random(4711);
  for (int round = 0; round < tests::cases(60); ++round) {
    const std::string where = "seed 4711, round " + std::to_string(round);
    const tests::random_forest batch(random, {.children = 16});
    const shape on = random_shape(random, batch);
    const bool splits = random.once_in(3);
    const auto made = splits ? planner_of(on, quick, schedules::zero_bubble{})(batch)
                             : planner_of(on, quick, schedules::list{})(batch);
    ASSERT_TRUE(made) << where << ": " << made.error().detail;
    expect_sound(made.value(), batch, where);
    // Flat: each leaf's path is a sequence.
    const std::vector<sequence> all = batch_view(batch).sequences();
    const slice_order order{batch_view(batch)};
    std::vector<tokens> paths;
    for (const sequence& s : all)
      if (order.children(s.id) == 0) paths.push_back(s.end());
    const auto flat = splits ? planner_of(on, quick, schedules::zero_bubble{})(paths)
                             : planner_of(on, quick, schedules::list{})(paths);
    if (flat && flat.value().merges.empty()) {
      EXPECT_LE(made.value().step_time.value, flat.value().step_time.value * 1.02) << where;
    }
    const auto again = splits ? planner_of(on, quick, schedules::zero_bubble{})(batch)
                              : planner_of(on, quick, schedules::list{})(batch);
    EXPECT_EQ(again.value().hash, made.value().hash) << where;
  }
}

/// Whether everything that goes on after some sequence is on a path that no replica has room for. Such a sequence is
/// computed once by itself, and flat need not do that.
bool is_left_alone(const std::vector<sequence>& all, const slice_order& order, const memory_limit& limit) {
  const auto has_room = [&](const sequence& s) { return static_cast<double>(s.end().value) <= limit.amount; };
  std::vector<bool> goes_on(all.size());
  for (std::size_t i = all.size(); i-- > 0;)
    if (!all[i].is_root() && has_room(all[i])) goes_on[all[i].parent.value] = true;
  return std::any_of(all.begin(), all.end(),
                     [&](const sequence& s) { return order.children(s.id) > 0 && !goes_on[s.id.value]; });
}

// A path that no replica has room for is cut off and shared, and others stay trees of one replica each.
TEST(ForestPlans, ShareWhatIsTooLongForOneReplicaBesideTrees) {
  testing::generator random(4714);
  int beside_trees = 0, compared = 0;
  for (int round = 0; round < tests::cases(40); ++round) {
    const std::string where = "seed 4714, round " + std::to_string(round);
    const tests::random_forest batch(random, {.children = 8, .longest = {6000}});
    const batch_view view(batch);
    shape on{.stages = static_cast<int>(random.between(1, 4)), .replicas = static_cast<int>(random.between(2, 4))};
    on.quantum = {std::int64_t{1} << random.between(0, 7)};
    on.memory = memory_limit{memory_unit::token,
                             2000 + static_cast<double>(view.longest().value) * (0.5 + 0.5 * random.ratio())};
    const auto plan_batch = planner_of(on, quick, schedules::list{});
    const result<plan> made = plan_batch(view);
    const std::vector<sequence> all = view.sequences();
    const slice_order order{view};
    std::vector<tokens> paths;
    for (const sequence& s : all)
      if (order.children(s.id) == 0) paths.push_back(s.end());
    const result<plan> flat = plan_batch(paths);
    ASSERT_TRUE(made || !flat) << where << ": " << made.error().detail;
    if (!made) continue;
    expect_sound(made.value(), batch, where);
    beside_trees += !made.value().merges.empty() && !made.value().parents.empty();
    if (!flat || is_left_alone(all, order, *on.memory)) continue;
    EXPECT_LE(made.value().step_time.value, flat.value().step_time.value * 1.02) << where;
    ++compared;
  }
  EXPECT_GE(beside_trees, tests::cases(40) / 5);
  EXPECT_GE(compared, tests::cases(40) / 5);
}

TEST(ForestPlans, OfRootsAreThoseOfALength) {
  testing::generator random(4712);
  for (int round = 0; round < tests::cases(10); ++round) {
    const std::vector<tokens> lengths = tests::random_forest(random, {}).lengths;
    const std::vector<sequence_id> parents(lengths.size(), no_parent);
    const auto plan_batch = planner_of({.stages = 3, .replicas = 2}, quick, schedules::list{});
    const plan list = plan_batch(lengths).value(), roots = plan_batch({lengths, parents}).value();
    EXPECT_EQ(list.hash, roots.hash) << "seed 4712, round " << round;
    EXPECT_TRUE(roots.parents.empty());
  }
}

TEST(ForestPlans, PartsTogetherAreTheWholePlanToTheBit) {
  testing::generator random(4713);
  const solvers::two_phase_estimated by_estimates{quick};
  for (int round = 0; round < tests::cases(10); ++round) {
    const tests::random_forest batch(random, {});
    const shape on{.stages = static_cast<int>(random.between(1, 4)),
                   .replicas = static_cast<int>(random.between(1, 5))};
    const auto plan_batch = planner_of(on, by_estimates, schedules::list{});
    const testing::report found = testing::rank_plan_laws(plan_batch, batch, static_cast<std::size_t>(on.replicas));
    EXPECT_TRUE(found) << "seed 4713, round " << round << ": " << found;
  }
}

TEST(ForestPlans, AreRefusedByWhoPlansLists) {
  const std::vector<tokens> lengths{{100}, {50}, {60}};
  const std::vector<sequence_id> parents{no_parent, {0}, {0}};
  const auto made = basic_planner{shape{.stages = 2},  slicers::whole{},  pipeline_cost,
                                  solvers::megatron{}, schedules::list{}, simulators::sweep{}}({lengths, parents});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().detail.find("samples share prefixes, and the solver does not say plans_prefixes"),
            std::string::npos)
      << made.error().detail;
  const auto wrong = planner_of({.stages = 2}, quick, schedules::list{})({lengths, std::vector<sequence_id>{{1}, {0}}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().detail, "there are 2 parents for 3 sequences");
}

}  // namespace
}  // namespace slimpack::forest_test
