#include <slimpack/costs/quadratic.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/divide/divider.hpp>
#include <slimpack/solvers/divide/division_problem.hpp>
#include <slimpack/solvers/divide/estimated.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/solvers/two_phase/detail/two_phase_search.hpp>
#include <slimpack/solvers/two_phase_with.hpp>
#include <slimpack/testing/plan_laws.hpp>
#include <slimpack/testing/rank_plan_laws.hpp>

#include "batches.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace slimpack::estimated_test {
namespace {

const costs::quadratic pipeline_cost{.per_pack = {6e-5}, .hop = {2e-5}};

divide::division_problem asked_of(const std::vector<tokens>& lengths, const shape& on, const costs::quadratic& cost) {
  return divide::division_problem::of({lengths, on}, cost, rates_of(cost, on).value(), 65536, {}, {}, {}).value();
}

divide::division divided(const std::vector<tokens>& lengths, const shape& on,
                         const costs::quadratic& cost = pipeline_cost) {
  return divide::estimated{}.divide(asked_of(lengths, on, cost), cost).value();
}

std::vector<tokens> giants() {
  std::vector<tokens> lengths{{100000}, {60000}};
  for (std::int64_t i = 0; i < 40; ++i) lengths.push_back({500 + 40 * i});
  return lengths;
}

TEST(Estimated, GivesEachReplicaAndEachSequenceToOneUnit) {
  testing::generator random(41);
  for (int round = 0; round < 100; ++round) {
    shape on{.stages = static_cast<int>(random.between(1, 8)), .replicas = static_cast<int>(random.between(1, 12))};
    if (random.once_in(2)) on.memory = memory_limit{memory_unit::token, 70000};
    const std::vector<tokens> lengths = tests::random_lengths(random, 80, {70000});
    const result<void> sound = detail::division_check(divided(lengths, on), lengths, on);
    EXPECT_TRUE(sound) << "seed 41, round " << round << ": " << sound.error().detail;
    EXPECT_EQ(divided(lengths, on), divided(lengths, on)) << "seed 41, round " << round;
  }
}

TEST(Estimated, SharesNothingWhereWholeSequencesBalance) {
  for (const divide::planning_unit& u : divided(std::vector<tokens>(64, {4000}), {.stages = 4, .replicas = 8}))
    EXPECT_TRUE(u.shared.empty());
}

TEST(Estimated, SharesWhatIsTooHeavyForOneReplica) {
  std::size_t shared = 0;
  for (const divide::planning_unit& u : divided(giants(), {.stages = 4, .replicas = 5})) shared += u.shared.size();
  EXPECT_GE(shared, 1u);
}

// 100000 tokens under a limit of 21000: 782 quanta of 128, 157 of them on the fullest of 5 = 20096 tokens; of 4, 25088.
TEST(Estimated, SharesAmongAsManyAsMemoryNeeds) {
  const shape on{.stages = 2, .replicas = 6, .memory = memory_limit{memory_unit::token, 21000}};
  std::size_t sharers = 0;
  for (const divide::planning_unit& u : divided(tests::lengths_of({100000, 3000, 2000, 1000}), on))
    for (const sequence& s : u.shared) sharers = s.id.value == 0 ? u.replicas.size() : sharers;
  EXPECT_GE(sharers, 5u);
}

TEST(Estimated, ForbiddenSharingSharesNothing) {
  solvers::two_phase_estimated solver{{.effort = solvers::search_budget::fast()}};
  const basic_planner plan_batch{shape{.stages = 4, .replicas = 5}, slicers::equal_cost{}, pipeline_cost,
                                 without_sharing(solver),           schedules::list{},     simulators::sweep{}};
  EXPECT_TRUE(plan_batch(giants()).value().merges.empty());
}

// Units that lose more get less work: what sharers wait for is counted before they are balanced.
TEST(Estimated, GivesLessToThoseThatShare) {
  const shape on{.stages = 8, .replicas = 8};
  std::vector<tokens> lengths{{90000}};
  for (std::int64_t i = 0; i < 300; ++i) lengths.push_back({600 + 10 * i});
  const divide::division_problem asked = asked_of(lengths, on, pipeline_cost);
  double sharers = 0, alone = 0, groups = 0, singles = 0;
  for (const divide::planning_unit& u : divided(lengths, on)) {
    double work = 0;
    for (const std::vector<sequence>* list : {&u.shared, &u.own})
      for (const sequence& s : *list) work += asked.work[s.id.value];
    (u.shared.empty() ? alone : sharers) += work;
    (u.shared.empty() ? singles : groups) += static_cast<double>(u.replicas.size());
  }
  ASSERT_GT(groups, 0);
  ASSERT_GT(singles, 0);
  EXPECT_LT(sharers / groups, alone / singles);
}

// 3 parts, a second a token forward, 2 backward, a pack's overhead of 5 s: ramps of 5 + 5 s on each of the 2 parts
// before the last. The heaviest of 10 + 6 tokens is 30 of 48 s: (30 / 48)^8 of the ramps, and with (30 / 48)^2 more of
// 2 last quanta of 12 s.
TEST(UnitEstimate, CountsTheWayAndTheHeaviestOfAReplica) {
  const costs::quadratic cost{.linear = 1, .attention = 0, .per_pack = {5}};
  const shape on{.stages = 3, .replicas = 1, .quantum = {4}};
  const divide::division_problem asked = asked_of(tests::lengths_of({10, 6}), on, cost);
  const detail::unit_estimate estimate(asked, cost);
  const std::vector<std::uint32_t> replicas{0};
  const detail::loss_terms t = estimate(replicas, {}, asked.batch);
  const double eighth = 0.625 * 0.625 * 0.625 * 0.625 * 0.625 * 0.625 * 0.625 * 0.625;
  EXPECT_DOUBLE_EQ(t.peak, eighth * 20);
  EXPECT_DOUBLE_EQ(t.tail, eighth * 0.625 * 0.625 * 24);
  EXPECT_EQ(t.alike, 0);
  EXPECT_EQ(t.uneven, 0);
  EXPECT_EQ(t.exchange, 0);
}

// Two sharers: 16 tokens of 48 s are shared, 24 each; own ones of 12, 6 | 3 s: 12 exceeds the mean of 9 by 3, and 3
// that of 1.5 by 1.5. A quantum of 4 tokens takes 12 s on the stage. Of 34.5 s each, 24 are shared: of 10 * 2 * 24 /
// 34.5 = 13.9 rows a pass there cannot be as many, but each would cost a message of 0.5 s forward and backward.
TEST(UnitEstimate, CountsWhatSharersWaitFor) {
  const costs::quadratic cost{.linear = 1, .attention = 0, .per_pack = {5}, .hop = {0.5}};
  const shape on{.stages = 2, .replicas = 2, .quantum = {4}};
  const divide::division_problem asked = asked_of(tests::lengths_of({16, 4, 2, 1}), on, cost);
  const detail::unit_estimate estimate(asked, cost);
  const std::vector<std::uint32_t> replicas{0, 1};
  const std::span<const sequence> all(asked.batch);
  const detail::loss_terms t = estimate(replicas, all.first(1), all.subspan(1));
  EXPECT_DOUBLE_EQ(t.uneven, 3 + 1.5);
  EXPECT_DOUBLE_EQ(t.rows, 12);
  EXPECT_DOUBLE_EQ(t.exchange, 10 * 2 * (24 / 34.5) * (0.5 + 0.5));
  EXPECT_DOUBLE_EQ(t.alike, std::pow(24 / 34.5, 8) * (5 + 5));
}

TEST(Estimated, LosesLittleBesideDivisionsThatAreSearched) {
  std::vector<tokens> lengths;
  testing::generator random(42);
  for (int i = 0; i < 160; ++i) lengths.push_back(random.length({20000}));
  lengths.push_back({150000});
  const shape on{.stages = 4, .replicas = 6};
  const auto step = [&](const auto& solver) {
    return basic_planner{
        on, slicers::equal_cost{}, pipeline_cost, solver, schedules::list{}, simulators::sweep{}}(lengths)
        .value()
        .step_time;
  };
  const seconds searched = step(solvers::two_phase{.effort = solvers::search_budget::fast()});
  const seconds estimated = step(solvers::two_phase_estimated{{.effort = solvers::search_budget::fast()}});
  EXPECT_LE(estimated / searched, 1.005) << "seed 42";
}

TEST(Estimated, PrintsAsItIsWritten) {
  std::ostringstream text;
  text << divide::estimated{};
  EXPECT_EQ(text.str(), "divide::estimated{}");
}

/// A divider of one's own: sequences are dealt in turn.
struct in_turn {
  int wrong{};

  template <class Cost>
  [[nodiscard]] result<divide::division> divide(const divide::division_problem& asked, const Cost&) const {
    divide::division units;
    for (std::uint32_t r = static_cast<std::uint32_t>(asked.replicas()); r-- > 0;) units.push_back({{r}, {}, {}});
    for (const sequence& s : asked.batch) units[s.id.value % units.size()].own.push_back(s);
    if (wrong == 1) units.pop_back();
    if (wrong == 2) units[0].own.push_back(units[1].own[0]);
    if (wrong == 3) units[0].own.pop_back();
    if (wrong == 4) units[0].replicas.push_back(units[0].replicas[0]);
    if (wrong == 5) units[0].shared.push_back(units[0].own[0]);
    if (wrong == 6) units[0].replicas[0] = 77;
    if (wrong == 7) units[0].own[0].length = {1};
    if (wrong == 8) units[0].replicas = units[1].replicas;
    if (wrong == 9) units[0].replicas.clear();
    return units;
  }
};

template <class Solver>
auto planner_with(const Solver& solver) {
  return basic_planner{shape{.stages = 2, .replicas = 3},
                       slicers::equal_cost{},
                       pipeline_cost,
                       solver,
                       schedules::list{},
                       simulators::sweep{}};
}

TEST(Divider, OfOnesOwnPlansWholeBatchesAndGroups) {
  const solvers::two_phase_with<solvers::improve::shipped, in_turn> solver{{.effort = solvers::search_budget::fast()}};
  const testing::report found = testing::rank_plan_laws(planner_with(solver), giants(), 3);
  EXPECT_TRUE(found) << found;
  const plan made = planner_with(solver)(giants()).value();
  EXPECT_TRUE(testing::plan_laws(made, pipeline_cost));
  EXPECT_EQ(made.replicas[2].sequences[0].value, 0u);
}

TEST(Divider, IsCheckedBeforeItsDivisionIsPlanned) {
  const auto refused = [](int wrong) {
    const solvers::two_phase_with<solvers::improve::shipped, in_turn> solver{{.effort = solvers::search_budget::fast()},
                                                                             {wrong}};
    const result<plan> made = planner_with(solver)(giants());
    EXPECT_EQ(made.error().code, errc::invalid_input);
    EXPECT_EQ(planner_with(solver).of_replica(giants(), 0).error().detail, made.error().detail);
    return made.error().detail;
  };
  const std::string begin = "the divider's answer is wrong: ";
  EXPECT_EQ(refused(1), begin + "replica 0 is in no unit");
  EXPECT_EQ(refused(2), begin + "sequence 1 is divided twice");
  EXPECT_EQ(refused(3), begin + "sequence 39 is in no unit");
  EXPECT_EQ(refused(4), begin + "replicas of a unit must be in ascending order");
  EXPECT_EQ(refused(5), begin + "a unit of 1 replicas shares 1 sequences: one replica shares none, several share some");
  EXPECT_EQ(refused(6), begin + "it has replica 77, the shape has 3");
  EXPECT_EQ(refused(7), begin + "it has sequence 0 of 1 tokens, which the batch has not");
  EXPECT_EQ(refused(8), begin + "replica 1 is in two units");
  EXPECT_EQ(refused(9), begin + "a unit has no replica");
}

// A divider that shares decides who runs with whom, so its hash tells divisions apart that hold the same sequences.
TEST(DivisionHash, TellsWhatIsSharedByWhom) {
  const std::vector<tokens> lengths = tests::lengths_of({4000, 3000});
  const shape on{.stages = 2, .replicas = 2};
  const std::vector<sequence> batch = batch_view(lengths).sequences();
  const divide::division whole{{{0}, {}, {batch[0]}}, {{1}, {}, {batch[1]}}};
  divide::division swapped{{{0}, {}, {batch[1]}}, {{1}, {}, {batch[0]}}};
  const divide::division one{{{0, 1}, {batch[0]}, {batch[1]}}};
  const divide::division both{{{0, 1}, {batch[0], batch[1]}, {}}};
  const std::vector<std::uint64_t> hashes{detail::hash_of(whole, lengths, on), detail::hash_of(swapped, lengths, on),
                                          detail::hash_of(one, lengths, on), detail::hash_of(both, lengths, on)};
  for (std::size_t i = 0; i < hashes.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(hashes[i], hashes[j]) << i << " and " << j;
  EXPECT_NE(detail::hash_of(whole, tests::lengths_of({4000, 3001}), on), hashes[0]);
  EXPECT_NE(detail::hash_of(whole, lengths, {.stages = 4, .replicas = 2}), hashes[0]);
}

static_assert(divide::divider<divide::searched>);
static_assert(divide::divider<divide::estimated>);
static_assert(divide::divider<in_turn>);
static_assert(divide::divides_without_plans<divide::estimated> && !divide::divides_without_plans<divide::searched>);
struct of_lengths {
  result<divide::division> divide(std::span<const tokens>) const;
};
static_assert(!divide::divider<of_lengths>);

}  // namespace
}  // namespace slimpack::estimated_test
