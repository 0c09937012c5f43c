#include <slimpack/costs/quadratic.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/bounds/lower_bounds.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/milp.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/solver_laws.hpp>

#include "../laws/cases.hpp"
#include "../support/every_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace slimpack::milp_test {
namespace {

using solvers::milp;
using solvers::milp_answer;
using solvers::milp_limits;

const costs::quadratic cost{.per_pack = {6.4e-5}, .hop = {2.4e-5}};
const shape two_stages{.stages = 2, .quantum = {512}};

result<milp_answer> certified(const std::vector<tokens>& lengths, const shape& on, const milp_limits& limits) {
  const milp<> solver{.limits = limits};
  return solver.certify({lengths, on}, slicers::equal_cost{}, cost, schedules::list{});
}

/// Batches of two or three sequences in at most three slices of 512 tokens.
std::vector<tokens> tiny_batch(testing::generator& random) {
  std::vector<tokens> lengths;
  for (std::int64_t slices = 3; slices > 0;) {
    const std::int64_t own = random.between(1, slices);
    lengths.push_back({(own - 1) * 512 + random.between(1, 512)});
    slices -= own;
  }
  return lengths;
}

double longest_of(const std::vector<tokens>& lengths) {
  return static_cast<double>(std::max_element(lengths.begin(), lengths.end())->value);
}

TEST(Milp, FindsTheBestPlanOfTinyBatches) {
  int k = 0;
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
    if (!tests::is_tried(k++)) continue;
    testing::generator random(seed);
    const std::vector<tokens> lengths = tiny_batch(random);
    shape on = two_stages;
    on.stages = static_cast<int>(random.between(1, 3));
    if (random.once_in(2)) on.memory = memory_limit{memory_unit::token, longest_of(lengths) * 1.25};
    const std::vector<sequence> own = batch_view(lengths).sequences();
    const seconds best = tests::shortest_replica(cost, on, own, false);
    const milp_answer found = certified(lengths, on, {.gap = 0}).value();
    EXPECT_NEAR(found.makespan / best, 1, 1e-9) << "seed " << seed;
    EXPECT_LE(found.bound, best) << "seed " << seed;
    EXPECT_TRUE(found.proven) << "seed " << seed;
  }
}

TEST(Milp, CountsWhatMessagesOfManyTokensAndUnequalStagesTake) {
  struct : costs::quadratic {
    seconds time(const slice& s, pass p, int part) const { return quadratic::time(s, p, part) * (1 + 0.5 * part); }
    seconds message(tokens size, pass, int part) const {
      return {1e-5 + 2e-7 * static_cast<double>(size.value) * (1 + part)};
    }
  } uneven;
  uneven.per_pack = {6.4e-5};
  const std::vector<tokens> lengths{{512}, {900}};
  shape on = two_stages;
  on.stages = 3;
  const milp<> solver{.limits = {.gap = 0}};
  const milp_answer found = solver.certify({lengths, on}, slicers::equal_cost{}, uneven, schedules::list{}).value();
  const seconds best = tests::shortest_replica(uneven, on, batch_view(lengths).sequences(), false);
  EXPECT_NEAR(found.makespan / best, 1, 1e-9);
  EXPECT_TRUE(found.proven);
}

TEST(Milp, KeepsMemoryInBytesBelowTheLimit) {
  struct : costs::quadratic {
    std::optional<memory_rates> memory(int) const { return memory_rates{1000, 4, 2, 3, 1}; }
  } known;
  known.per_pack = {6.4e-5};
  const std::vector<tokens> lengths{{1024}, {512}, {512}};
  seconds previous{};
  int k = 0;
  // 1024 tokens forwarded and run backward in one pack hold 1000 + 4 x 1024 + 3 x 1024 bytes at most.
  for (const double limit : {8'168.0, 10'000.0, 40'000.0}) {
    if (!tests::is_tried(k++)) continue;
    shape on = two_stages;
    on.memory = memory_limit{memory_unit::byte, limit};
    const milp<> solver{.limits = {.gap = 0}};
    const milp_answer found = solver.certify({lengths, on}, slicers::equal_cost{}, known, schedules::list{}).value();
    const replica_solution& plan = found.best.replicas.front();
    const workload work = price(plan.partition, known, on, rates_of(known, on).value());
    for (const double peak : simulators::peak_memory(work, plan.programs)) EXPECT_LE(peak, limit);
    EXPECT_TRUE(found.proven) << limit;
    if (previous > seconds{}) {
      EXPECT_LE(found.makespan, previous) << "more memory cannot hurt";
    }
    previous = found.makespan;
  }
}

TEST(Milp, IsNeverWorseThanItsStart) {
  int k = 0;
  for (const std::uint64_t seed : {11u, 12u, 13u}) {
    if (!tests::is_tried(k++)) continue;
    testing::generator random(seed);
    std::vector<tokens> lengths;
    for (int i = 0; i < 3; ++i) lengths.push_back({random.between(1, 1000)});
    const milp_answer found = certified(lengths, two_stages, {.nodes = 10}).value();
    EXPECT_LE(found.makespan, found.start) << "seed " << seed;
    EXPECT_LE(found.bound, found.makespan) << "seed " << seed;
  }
}

TEST(Milp, ProvesNothingThatAStoppedSearchDidNotSee) {
  std::stop_source source;
  source.request_stop();
  const std::vector<tokens> lengths{{1000}, {700}, {512}};
  const milp<> solver;
  const milp_answer found =
      solver.certify({lengths, two_stages, source.get_token()}, slicers::equal_cost{}, cost, schedules::list{}).value();
  EXPECT_EQ(found.nodes, 0);
  EXPECT_EQ(found.makespan, found.start);
  EXPECT_LE(found.bound, certified(lengths, two_stages, {}).value().makespan);
}

TEST(Milp, BoundsSeveralReplicasByTheirAssignment) {
  // Three equal sequences on two replicas: one replica runs two of them, where a fair share would be one and a half.
  const std::vector<tokens> lengths(3, {512});
  shape on = two_stages;
  on.replicas = 2;
  const milp<> solver{.start = {.most_sharers = 1}, .limits = {.gap = 1e-4}};
  const milp_answer found = solver.certify({lengths, on}, slicers::equal_cost{}, cost, schedules::list{}).value();
  const std::vector<sequence> two = {{{0}, {512}}, {{1}, {512}}};
  EXPECT_GE(found.bound, simulators::stage_bound(cost, two_stages, two, 0) * (1 - 1e-3));
  EXPECT_LE(found.bound, tests::shortest_step(cost, on, batch_view(lengths).sequences(), false));
}

TEST(Milp, SaysWhatIsTooLargeAndWhatToDo) {
  const result<milp_answer> refused = certified({{512 * 9}}, two_stages, {.atoms = 8});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_input);
  EXPECT_EQ(refused.error().detail,
            "the batch has 9 slices of 512 tokens, milp's limit is 8: raise the quantum or milp_limits::atoms");
}

TEST(Milp, IsNotAskedWhereAPartOfTheModelIsLikeNone) {
  struct like_none : costs::quadratic {
    [[nodiscard]] int like(int part) const { return part - 1; }
  };
  const planner plan_batch{two_stages, slicers::equal_cost{}, like_none{}, milp<>{}, schedules::list{}};
  const std::vector<tokens> lengths{{512}};
  const result<void> refused = plan_batch.check(lengths);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_input);
  EXPECT_EQ(refused.error().detail,
            "the cost model says that part 0 is like part -1; like must be from 0 to the part itself");
}

// Asked without a planner, it looks at answers all the same.
TEST(Milp, RefusesAnswersThatAreNoTimes) {
  struct : costs::quadratic {
    double short_ones{};
    seconds time(const slice& s, pass p, int part) const {
      return s.length < tokens{400} && p == pass::backward ? seconds{short_ones} : quadratic::time(s, p, part);
    }
  } faulty;
  const std::vector<tokens> lengths{{1000}, {300}};
  for (const double given :
       {std::numeric_limits<double>::quiet_NaN(), -1e300, std::numeric_limits<double>::infinity()}) {
    faulty.short_ones = given;
    const milp<> solver;
    const result<milp_answer> certified =
        solver.certify({lengths, two_stages}, slicers::equal_cost{}, faulty, schedules::list{});
    ASSERT_FALSE(certified) << given;
    EXPECT_EQ(certified.error().code, errc::invalid_input) << given;
    EXPECT_NE(certified.error().detail.find("300 tokens"), std::string::npos) << certified.error().detail;
  }
}

TEST(Milp, RefusesBatchesAndShapesThatPlannersRefuse) {
  const milp<> solver;
  EXPECT_EQ(solver.certify({{}, two_stages}, slicers::equal_cost{}, cost, schedules::list{}).error().code,
            errc::invalid_input);
  const std::vector<tokens> lengths{{512}};
  const shape no_quantum{.stages = 2, .quantum = {0}};
  EXPECT_EQ(solver.certify({lengths, no_quantum}, slicers::equal_cost{}, cost, schedules::list{}).error().code,
            errc::invalid_input);
  EXPECT_EQ(solver.assign({{}, two_stages}, cost).error().code, errc::invalid_input);
}

TEST(Milp, ObeysTheLawsOfSolvers) {
  const milp<> solver{.start = {.effort = solvers::search_budget::fast()}, .limits = {.nodes = 3, .atoms = 4}};
  int k = 0;
  for (const shape& on : {shape{.stages = 2}, shape{.stages = 2, .replicas = 3}}) {
    if (!tests::is_tried(k++)) continue;
    const testing::options o{.cases = tests::cases(4), .longest = {512}, .quantum = {128}};
    const testing::report found = testing::solver_laws(solver, slicers::equal_cost{}, cost, schedules::list{}, on, o);
    EXPECT_TRUE(found) << found;
  }
}

}  // namespace
}  // namespace slimpack::milp_test
