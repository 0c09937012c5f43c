#include <slimpack/costs/quadratic.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/solvers/divide/division_problem.hpp>
#include <slimpack/solvers/divide/searched.hpp>

#include "../laws/cases.hpp"
#include "batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::searched_test {
namespace {

/// A second a token forward, two backward; rows that replicas share take time, but for a hop of 0.
divide::division_problem asked_of(const std::vector<tokens>& lengths, int replicas, double hop = 1e-3) {
  const costs::quadratic cost{.linear = 1, .attention = 0, .hop = {hop}};
  const shape on{.replicas = replicas, .quantum = {10}};
  return divide::division_problem::of({lengths, on}, cost, rates_of(cost, on).value(), 100, {}, {}, {}).value();
}

/// Stands for the planner of divisions: a unit ends when it is told, and a solution names the call that made it.
struct stand_in {
  struct call {
    divide::division units;
    bool small;
    solvers::search_budget effort;
    seconds end;
  };
  std::function<seconds(const divide::planning_unit&)> end_of;
  std::optional<errc> fails{};  // every call, or those
  bool fails_large{};           // of packs that are not small
  bool alike{};
  std::size_t stops_after{std::numeric_limits<std::size_t>::max()};
  bool has_baseline{};
  std::vector<call> calls{};
  int asked_baselines{};
  costs::quadratic prices{.linear = 1, .attention = 0, .hop = {1e-3}};
  solvers::search_report told{};

  static constexpr std::uint32_t baseline = 1'000'000;

  [[nodiscard]] const costs::quadratic& cost() const { return prices; }
  [[nodiscard]] bool stopped() const { return calls.size() >= stops_after; }
  [[nodiscard]] bool cuts_alike() const { return alike; }
  [[nodiscard]] solvers::search_report& report() { return told; }
  [[nodiscard]] detail::partition_rule small(detail::partition_rule start) const { return start.front = -1, start; }

  static solution named(std::size_t call) {
    solution s{std::vector<replica_solution>(1)};
    s.replicas[0].sequences = {{static_cast<std::uint32_t>(call)}};
    return s;
  }
  result<detail::planned_division> planned(divide::division units, const detail::partition_rule& start,
                                           solvers::search_budget effort,
                                           seconds latest = {std::numeric_limits<double>::infinity()}) {
    std::vector<seconds> ends;
    for (const divide::planning_unit& u : units) ends.push_back(end_of(u));
    const seconds end = *std::max_element(ends.begin(), ends.end());
    calls.push_back({units, start.front < 0, effort, end});
    if (fails && (!fails_large || !calls.back().small))
      return error{*fails, "call " + std::to_string(calls.size() - 1)};
    if (end > latest) return error{errc::not_faster, "too late"};
    return detail::planned_division{std::move(units), std::move(ends), named(calls.size() - 1)};
  }
  std::optional<detail::planned_division> beside_baselines(std::optional<detail::planned_division> found,
                                                           const detail::partition_rule&, solvers::search_budget) {
    ++asked_baselines;
    if (has_baseline) return detail::planned_division{{}, {{0}}, named(baseline)};
    return found;
  }
};

/// The number of the call whose plan is the answer.
std::uint32_t chosen(stand_in& plan, const divide::division_problem& asked,
                     solvers::search_budget effort = solvers::search_budget::fast()) {
  return divide::searched{}.solve(asked, plan, {}, effort).value().replicas.at(0).sequences.at(0).value;
}

/// What each replica of a unit has to do.
double work_of(const divide::planning_unit& u, const divide::division_problem& asked) {
  double work = 0;
  for (const std::vector<sequence>* list : {&u.shared, &u.own})
    for (const sequence& s : *list) work += asked.work[s.id.value];
  return work / static_cast<double>(u.replicas.size());
}

bool shares(const divide::division& units) {
  return std::any_of(units.begin(), units.end(), [](const divide::planning_unit& u) { return !u.shared.empty(); });
}

TEST(Searched, PlansAnOnlyDivisionOnceWithAllOfTheEffort) {
  const divide::division_problem asked = asked_of(tests::lengths_of({30, 20, 10}), 1);
  stand_in plan{[&](const divide::planning_unit& u) { return seconds{work_of(u, asked)}; }};
  EXPECT_EQ(chosen(plan, asked), 0u);
  ASSERT_EQ(plan.calls.size(), 1u);
  EXPECT_EQ(plan.calls[0].effort, solvers::search_budget::fast());
  EXPECT_EQ(plan.calls[0].units[0].own, asked.batch);
}

// Whatever plans take: the answer is the fastest of all that were made, and none that was left would have been faster.
TEST(Searched, AnswersWithTheFastestOfAllThatItPlanned) {
  std::size_t several = 0;
  for (int seed = 1; seed <= tests::cases(150); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const divide::division_problem asked =
        asked_of(tests::random_lengths(random, 20, {2000}), static_cast<int>(random.between(1, 5)));
    stand_in plan{
        [&](const divide::planning_unit& u) { return seconds{work_of(u, asked) * (1 + 0.3 * random.ratio())}; }};
    const std::uint32_t best = chosen(plan, asked);
    for (const stand_in::call& c : plan.calls) EXPECT_LE(plan.calls.at(best).end, c.end) << "seed " << seed;
    std::uint64_t tried = 0;
    for (const solvers::move_report& m : plan.told.moves()) tried += m.tried;
    several += tried > 1;
    for (const stand_in::call& c : plan.calls) {
      std::size_t replicas = 0, sequences = 0;
      for (const divide::planning_unit& u : c.units)
        replicas += u.replicas.size(), sequences += u.own.size() + u.shared.size();
      EXPECT_EQ(replicas, asked.replicas()) << "seed " << seed;
      EXPECT_EQ(sequences, asked.batch.size()) << "seed " << seed;
    }
  }
  EXPECT_GT(several, 0u);
}

// A sequence of 2000 tokens among 4 replicas that have 1000 in the mean: whole it ends last. Where sharing costs
// nothing it is shared; where it takes three times as long it is not.
TEST(Searched, SharesWhatPaysToShare) {
  const divide::division_problem asked = asked_of(tests::lengths_of({2000, 500, 500, 500, 500}), 4);
  for (const double price : {1.0, 3.0}) {
    stand_in plan{
        [&](const divide::planning_unit& u) { return seconds{work_of(u, asked) * (u.shared.empty() ? 1 : price)}; }};
    const std::uint32_t best = chosen(plan, asked);
    EXPECT_EQ(shares(plan.calls.at(best).units), price == 1);
  }
}

// Where the cost model takes no time for what sharers exchange, sharing must gain a part of the step: here 0.1 % or 1 %
// of it, and the options ask for 0.2 %.
TEST(Searched, SharesByAMarginWhatIsFreeToExchange) {
  const std::vector<tokens> lengths = tests::lengths_of({1000, 1000});
  for (const bool free : {false, true})
    for (const double gain : {0.001, 0.01}) {
      const divide::division_problem asked = asked_of(lengths, 2, free ? 0 : 1e-3);
      ASSERT_EQ(asked.exchange_is_free, free);
      stand_in plan{[&](const divide::planning_unit& u) {
        return seconds{1.1 * work_of(u, asked) * (u.shared.empty() ? 1 : 1 - gain)};
      }};
      EXPECT_EQ(shares(plan.calls.at(chosen(plan, asked)).units), !free || gain > 0.002)
          << "free " << free << ", gain " << gain;
    }
}

// Four sequences for four replicas, whole one each: nothing beats the mean work.
TEST(Searched, TriesNoOtherDivisionWhereOneComesNearTheMean) {
  const divide::division_problem asked = asked_of(std::vector<tokens>(4, {1000}), 4);
  stand_in near{[&](const divide::planning_unit& u) { return seconds{work_of(u, asked)}; }};
  static_cast<void>(chosen(near, asked));
  EXPECT_EQ(near.told.of("divided").tried, 1u);
  EXPECT_FALSE(shares(near.calls.front().units));
  stand_in far{[&](const divide::planning_unit& u) { return seconds{1.1 * work_of(u, asked)}; }};
  static_cast<void>(chosen(far, asked));
  EXPECT_GT(far.told.of("divided").tried, 1u);
}

TEST(Searched, TriesEachDivisionWithSmallPacksToo) {
  const divide::division_problem asked = asked_of(tests::lengths_of({2000, 500, 500, 500, 500}), 4);
  stand_in plan{[&](const divide::planning_unit& u) { return seconds{1.1 * work_of(u, asked)}; }};
  static_cast<void>(chosen(plan, asked));
  ASSERT_GE(plan.calls.size(), 2u);
  EXPECT_FALSE(plan.calls[0].small);
  EXPECT_TRUE(plan.calls[1].small);
  EXPECT_EQ(plan.calls[1].units, plan.calls[0].units);
  EXPECT_EQ(plan.calls[0].effort.candidates, 1u) << "the least effort";
}

// Where only packs that are small have room.
TEST(Searched, TakesSmallPacksWhereLargeOnesHaveNoPlan) {
  const divide::division_problem asked = asked_of(tests::lengths_of({2000, 500, 500, 500, 500}), 4);
  const auto end = [&](const divide::planning_unit& u) { return seconds{work_of(u, asked)}; };
  stand_in plan{.end_of = end, .fails = errc::out_of_memory, .fails_large = true};
  EXPECT_TRUE(plan.calls.at(chosen(plan, asked)).small);
}

TEST(Searched, EndsWithItsBestWhereItIsStopped) {
  const divide::division_problem asked = asked_of(tests::lengths_of({2000, 500, 500, 500, 500}), 4);
  stand_in plan{[&](const divide::planning_unit& u) { return seconds{1.1 * work_of(u, asked)}; }};
  plan.stops_after = 1;
  EXPECT_LT(chosen(plan, asked), 2u);
  EXPECT_LE(plan.calls.size(), 2u) << "the first division, with large packs and with small ones";
}

// What packs of the start sizes are too many for, smaller ones are too.
TEST(Searched, SaysWhyTheFirstDivisionHadNoPlan) {
  const divide::division_problem asked = asked_of(tests::lengths_of({2000, 500, 500, 500, 500}), 4);
  const auto end = [&](const divide::planning_unit& u) { return seconds{work_of(u, asked)}; };
  for (const errc code : {errc::out_of_memory, errc::over_budget}) {
    stand_in plan{.end_of = end, .fails = code};
    const result<solution> none = divide::searched{}.solve(asked, plan, {}, solvers::search_budget::fast());
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, code);
    EXPECT_EQ(none.error().detail, "call 0");
    for (const stand_in::call& c : plan.calls) EXPECT_TRUE(!c.small || code == errc::out_of_memory);
    EXPECT_EQ(plan.asked_baselines, 0);
  }
}

// From normal effort on, and not where both passes are cut alike afterwards.
TEST(Searched, LetsBaselinesTakePart) {
  const auto normal = solvers::search_budget::normal();
  for (const int replicas : {1, 4}) {
    const divide::division_problem asked = asked_of(tests::lengths_of({2000, 500, 500, 500, 500}), replicas);
    const auto end = [&](const divide::planning_unit& u) { return seconds{work_of(u, asked)}; };
    stand_in with{.end_of = end, .has_baseline = true};
    EXPECT_EQ(chosen(with, asked, normal), stand_in::baseline);
    stand_in quick{.end_of = end, .has_baseline = true}, alike{.end_of = end, .alike = true, .has_baseline = true};
    EXPECT_NE(chosen(quick, asked), stand_in::baseline);
    EXPECT_NE(chosen(alike, asked, normal), stand_in::baseline);
    stand_in full{.end_of = end, .fails = errc::out_of_memory, .has_baseline = true};
    EXPECT_EQ(chosen(full, asked, normal), stand_in::baseline);
    stand_in none{.end_of = end, .fails = errc::out_of_memory};
    EXPECT_EQ(divide::searched{}.solve(asked, none, {}, normal).error().detail, "call 0");
    stand_in wrong{.end_of = end, .fails = errc::invalid_input, .has_baseline = true};
    EXPECT_EQ(divide::searched{}.solve(asked, wrong, {}, normal).error().code, errc::invalid_input)
        << "only memory lets a baseline stand in";
  }
}

TEST(Searched, PrintsAsItIsWritten) {
  std::ostringstream text;
  text << divide::searched{};
  EXPECT_EQ(text.str(), "divide::searched{}");
}

}  // namespace
}  // namespace slimpack::searched_test
