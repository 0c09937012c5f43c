#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/refined.hpp>
#include <slimpack/solvers/two_phase_with.hpp>
#include <slimpack/testing/plan_laws.hpp>
#include <slimpack/testing/rank_plan_laws.hpp>

#include "../costs/models.hpp"
#include "../laws/cases.hpp"
#include "../solvers/batches.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::rank_plan_test {
namespace {

const costs::quadratic pipeline_cost{.per_pack = {6e-5}, .hop = {2e-5}};
const solvers::two_phase_estimated quick{{.effort = solvers::search_budget::fast(), .threads = 1}};

/// Two giants and 40 short sequences.
std::vector<tokens> giants() {
  std::vector<tokens> lengths{{100000}, {60000}};
  for (std::int64_t i = 0; i < 40; i += tests::one_in) lengths.push_back({500 + 40 * i});
  return lengths;
}

template <class Cost, class Solver, class Schedule>
auto planner_of(const shape& on, const Cost& cost, const Solver& solver, const Schedule& schedule) {
  return basic_planner{on, slicers::equal_cost{}, cost, solver, schedule, simulators::sweep{}};
}

TEST(RankPlan, PartsTogetherAreTheWholePlanToTheBit) {
  testing::generator random(31);
  for (int round = 0; round < tests::cases(12); ++round) {
    shape on{.stages = static_cast<int>(random.between(1, 4)), .replicas = static_cast<int>(random.between(1, 6))};
    std::vector<tokens> lengths = round % 2 == 0 ? giants() : tests::random_lengths(random, 60, {60000});
    if (random.once_in(2)) on.memory = memory_limit{memory_unit::token, 120000};
    const auto plan_batch = planner_of(on, pipeline_cost, quick, schedules::list{});
    const testing::report found = testing::rank_plan_laws(plan_batch, lengths, static_cast<std::size_t>(on.replicas));
    EXPECT_TRUE(found) << "seed 31, round " << round << ": " << found;
    if (const result<plan> whole = plan_batch(lengths)) {
      const testing::report laws = testing::plan_laws(whole.value(), pipeline_cost);
      EXPECT_TRUE(laws) << "seed 31, round " << round << ": " << laws;
    }
  }
}

TEST(RankPlan, HoldsForGroupsThatShare) {
  const shape on{.stages = 4, .replicas = 5};
  const auto plan_batch = planner_of(on, pipeline_cost, quick, schedules::list{});
  const plan whole = plan_batch(giants()).value();
  ASSERT_FALSE(whole.merges.empty());
  const std::uint32_t sharer = whole.merges[0].replicas[1];
  const rank_plan part = plan_batch.of_replica(giants(), sharer).value();
  EXPECT_EQ(part.group, whole.merges[0].replicas);
  EXPECT_FALSE(part.part.merges.empty());
}

TEST(RankPlan, HoldsForEverySchedule) {
  const std::vector<tokens> lengths = giants();
  const shape chunked{.stages = 2, .replicas = 3, .chunks = 2};
  const testing::report interleaved =
      testing::rank_plan_laws(planner_of(chunked, pipeline_cost, quick, schedules::one_f_one_b{2}), lengths, 3);
  EXPECT_TRUE(interleaved) << interleaved;
  const shape plain{.stages = 4, .replicas = 3};
  const testing::report apart =
      testing::rank_plan_laws(planner_of(plain, pipeline_cost, quick, schedules::zero_bubble{}), lengths, 3);
  EXPECT_TRUE(apart) << apart;
}

TEST(RankPlan, HoldsForCommonCuts) {
  const solvers::refined<solvers::two_phase_estimated> solver{quick};
  const testing::report found = testing::rank_plan_laws(
      planner_of({.stages = 4, .replicas = 3}, pipeline_cost, solver, schedules::list{}), giants(), 3);
  EXPECT_TRUE(found) << found;
}

TEST(RankPlan, HoldsForATransformerInBytes) {
  shape on{.stages = 2, .replicas = 4, .tensor = 2};
  on.memory = memory_limit{memory_unit::byte, 80e9};
  const auto cost = costs::transformer::sheet(tests::llama_3_1_8b(), costs::gpus::h100(), on).value();
  const testing::report found = testing::rank_plan_laws(planner_of(on, cost, quick, schedules::list{}), giants(), 4);
  EXPECT_TRUE(found) << found;
}

TEST(RankPlan, PutsTogetherOneOfEachGroupInAnyOrder) {
  const shape on{.stages = 2, .replicas = 4};
  const auto plan_batch = planner_of(on, pipeline_cost, quick, schedules::list{});
  std::vector<rank_plan> parts;
  for (std::uint32_t replica = 4; replica-- > 0;) parts.push_back(plan_batch.of_replica(giants(), replica).value());
  const std::uint64_t whole = plan_batch(giants()).value().hash;
  EXPECT_EQ(plan_batch.put_together(parts).value().hash, whole);
  std::vector<rank_plan> leaders;
  for (std::uint32_t replica = 0; replica < 4; ++replica)
    if (parts[3 - replica].group.front() == replica) leaders.push_back(parts[3 - replica]);
  EXPECT_LT(leaders.size(), 4u);
  EXPECT_EQ(plan_batch.put_together(leaders).value().hash, whole);
}

std::string refusal(const auto& plan_batch, const std::vector<rank_plan>& parts) {
  const result<plan> made = plan_batch.put_together(parts);
  return made ? "" : made.error().detail;
}

TEST(RankPlan, RefusesPartsThatDoNotBelongTogether) {
  const shape on{.stages = 2, .replicas = 3};
  const auto plan_batch = planner_of(on, pipeline_cost, quick, schedules::list{});
  const std::vector<tokens> lengths = tests::lengths_of({4000, 3000, 2000, 4100, 2900, 2100});
  std::vector<rank_plan> parts;
  for (std::uint32_t replica = 0; replica < 3; ++replica)
    parts.push_back(plan_batch.of_replica(lengths, replica).value());
  ASSERT_EQ(refusal(plan_batch, parts), "");
  EXPECT_EQ(refusal(plan_batch, {}), "parts of a plan: there are none");
  EXPECT_EQ(refusal(plan_batch, {parts[0], parts[2]}), "parts of a plan: none plans replica 1");
  std::vector<rank_plan> changed = parts;
  changed[1].division ^= 1;
  EXPECT_EQ(refusal(plan_batch, changed), "parts of a plan: replicas 0 and 1 are of different divisions");
  changed = parts;
  changed.push_back(parts[2]);
  changed.back().part.hash ^= 1;
  EXPECT_EQ(refusal(plan_batch, changed), "parts of a plan: two of them plan replica 2 differently");
  const auto other = planner_of({.stages = 3, .replicas = 3}, pipeline_cost, quick, schedules::list{});
  EXPECT_EQ(refusal(other, parts), "parts of a plan: they are for another shape than the planner's");
  changed = parts;
  changed[0].group.clear();
  EXPECT_EQ(refusal(plan_batch, changed), "parts of a plan: one has no group, or other replicas than the shape");
}

TEST(RankPlan, RefusesAReplicaThatThereIsNot) {
  const auto plan_batch = planner_of({.stages = 2, .replicas = 3}, pipeline_cost, quick, schedules::list{});
  const result<rank_plan> made = plan_batch.of_replica(giants(), 3);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().detail, "there is no replica 3, the shape has 3");
}

TEST(RankPlan, TellsAFaultyCostModel) {
  struct negative {
    seconds time(const slice& s, pass, int) const { return {s.begin > tokens{0} ? -1.0 : 1.0}; }
  };
  const auto plan_batch = planner_of({.stages = 2, .replicas = 2}, negative{}, quick, schedules::list{});
  const result<rank_plan> made = plan_batch.of_replica(giants(), 0);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().detail.find("the cost model gives"), std::string::npos) << made.error().detail;
}

TEST(RankPlan, UnderAStopTokenIsMarked) {
  const auto plan_batch = planner_of({.stages = 2, .replicas = 2}, pipeline_cost, quick, schedules::list{});
  EXPECT_FALSE(plan_batch.of_replica(giants(), 0).value().part.truncated);
  std::stop_source stop;
  EXPECT_TRUE(plan_batch.of_replica(giants(), 0, stop.get_token()).value().part.truncated);
}

/// A solver whose groups are not what they say.
struct liar : solvers::two_phase_estimated {
  int lie{};

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<group_solution> solve_group(const problem& batch, const Slicer& slicer, const Cost& cost,
                                                   const Schedule& schedule, std::uint32_t replica) const {
    result<group_solution> made = solvers::two_phase_estimated::solve_group(batch, slicer, cost, schedule, replica);
    if (!made) return made;
    group_solution& g = made.value();
    if (lie == 1) g.replicas.clear();
    if (lie == 2) g.sequences.pop_back();
    if (lie == 3) g.sequences.push_back({replica == 0 ? g.sequences[0].value + 1 : 0});
    if (lie == 4) std::swap(g.solved.replicas[0], g.solved.replicas[1]);
    return made;
  }
};

TEST(RankPlan, ChecksWhatASolverAnswers) {
  const std::vector<tokens> lengths = tests::lengths_of({4000, 3900});
  const auto refused = [&](int lie) {
    liar solver;
    solver.lie = lie;
    const result<rank_plan> made =
        planner_of({.replicas = 2}, pipeline_cost, solver, schedules::list{}).of_replica(lengths, 0);
    return made ? std::string() : made.error().detail;
  };
  EXPECT_EQ(refused(0), "");
  EXPECT_EQ(refused(1), "the solver's answer is wrong: a group has replicas that there are, in ascending order");
  EXPECT_EQ(refused(2), "the solver's answer is wrong: sequence 0 is on replica 0, whose group does not run it");
  EXPECT_EQ(refused(3), "the solver's answer is wrong: sequence 1 is on no replica of its group");
  EXPECT_EQ(refused(4), "the solver's answer is wrong: sequence 0 is on replica 1, which is not of the group");
}

}  // namespace
}  // namespace slimpack::rank_plan_test
