#include <slimpack/planner.hpp>
#include <slimpack/solvers/improve/move.hpp>
#include <slimpack/solvers/improve/shipped.hpp>
#include <slimpack/solvers/search_report.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/solvers/two_phase_with.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::move_test {
namespace {

namespace improve = solvers::improve;

const costs::quadratic cost{.per_pack = {6e-5}, .hop = {2e-5}};

std::vector<tokens> lengths() {
  std::vector<tokens> all{{60000}, {9000}, {9000}, {4000}};
  for (std::int64_t i = 0; i < 40; ++i) all.push_back({300 + 40 * i});
  return all;
}

template <class Solver, class Schedule = schedules::list>
plan planned(Solver solver, const Schedule& schedule = {}) {
  if (tests::under_sanitizer) solver.effort = {600'000, 100};
  return planner{shape{.stages = 4, .replicas = 2}, slicers::equal_cost{}, cost, solver, schedule}(lengths()).value();
}

// A move of one's own: a pack and the next become packs of equal work.
struct even_out {
  static constexpr std::string_view name = "even_out";
  [[nodiscard]] static double weight(const solvers::search_options&) { return 0.5; }

  bool operator()(improve::window_site& at) const {
    std::vector<double>& times = at.times(2);
    if (times.size() < 2) return false;
    times[0] = times[1] = (times[0] + times[1]) / 2;
    return true;
  }
};

/// Says of every instruction that it did something, and does nothing.
struct idle {
  static constexpr std::string_view name = "idle";
  [[nodiscard]] static double weight(const solvers::search_options&) { return 1; }
  bool operator()(improve::instruction_site&) const { return false; }
};

/// Wants what cannot be filled: more packs than there are, of no time.
struct nonsense {
  static constexpr std::string_view name = "nonsense";
  [[nodiscard]] static double weight(const solvers::search_options&) { return 1; }
  bool operator()(improve::window_site& at) const {
    at.times(1).assign(5, 0.0);
    return true;
  }
  bool operator()(improve::pack_site& at) const {
    at.times.clear();
    return true;
  }
};

static_assert(improve::move<improve::swap> && improve::move<improve::reorder> && improve::move<even_out>);
static_assert(improve::is_at<improve::swap, improve::instruction_site>);
static_assert(!improve::is_at<improve::swap, improve::window_site>);

TEST(Moves, ReportHowOftenTheyWereTriedTakenAndWhatTheyGained) {
  solvers::search_report report;
  static_cast<void>(planned(solvers::two_phase{.report = &report}));
  std::set<std::string> named;
  for (const solvers::move_report& m : report.moves()) {
    named.emplace(m.name);
    EXPECT_GT(m.tried, 0u) << m.name;
    EXPECT_LE(m.taken, m.tried) << m.name;
    EXPECT_GE(m.gained, seconds{}) << m.name;
    EXPECT_TRUE(m.taken > 0 || m.gained == seconds{}) << m.name;
  }
  for (const char* name : {"first", "sizes", "swap", "shift", "merge", "split", "join", "take", "give", "reorder"})
    EXPECT_TRUE(named.contains(name)) << name;
  EXPECT_GT(report.of("swap").taken, 0u);
  EXPECT_GT(report.of("merge").gained, seconds{});
}

TEST(Moves, AreReportedAlikeOnAnyNumberOfThreads) {
  solvers::search_report one, four;
  const plan alone = planned(solvers::two_phase{.threads = 1, .report = &one});
  const plan beside = planned(solvers::two_phase{.threads = 4, .report = &four});
  EXPECT_EQ(one, four);
  EXPECT_EQ(alone.hash, beside.hash);
}

TEST(Moves, AreReportedWithoutAChangeOfThePlan) {
  solvers::search_report report;
  EXPECT_EQ(planned(solvers::two_phase{.report = &report}).hash, planned(solvers::two_phase{}).hash);
}

TEST(Moves, OfAUserAreTriedAndKeepThePlanLaws) {
  solvers::search_report report;
  using mine = improve::shipped::and_also<even_out>;
  const plan made = planned(solvers::two_phase_with<mine>{{.report = &report}});
  const testing::report found = testing::plan_laws(made, cost);
  EXPECT_TRUE(found) << found;
  EXPECT_GT(report.of("even_out").tried, 0u);
  EXPECT_GT(report.of("even_out").taken, 0u);
}

TEST(Moves, ThatCannotBeMadeAreLeft) {
  solvers::search_report report;
  const plan made = planned(solvers::two_phase_with<improve::moves<idle, nonsense>>{{.report = &report}});
  const testing::report found = testing::plan_laws(made, cost);
  EXPECT_TRUE(found) << found;
  EXPECT_GT(report.of("nonsense").tried, 0u);
  EXPECT_EQ(report.of("nonsense").taken, 0u);
  EXPECT_EQ(report.of("idle").taken, 0u);
}

TEST(Moves, NeedNotBeOfAnyKindOfSite) {
  const plan made = planned(solvers::two_phase_with<improve::moves<>>{});
  const testing::report found = testing::plan_laws(made, cost);
  EXPECT_TRUE(found) << found;
}

TEST(Moves, OfNoWeightAreNotTried) {
  solvers::search_report report;
  static_cast<void>(planned(solvers::two_phase{
      .options =
          {.tuning = {.split_weight = 0, .join_weight = 0, .take_weight = 0, .give_weight = 0, .shift_weight = 0}},
      .report = &report}));
  for (const char* name : {"split", "join", "take", "give", "shift"}) EXPECT_EQ(report.of(name).tried, 0u) << name;
  EXPECT_GT(report.of("merge").tried, 0u);
}

/// A move of packs that notes that it was made.
template <int Number, int Weight>
struct noting {
  static constexpr std::string_view name = Number == 1 ? "one" : Number == 2 ? "two" : "three";
  [[nodiscard]] static double weight(const solvers::search_options&) { return Weight; }
  bool operator()(improve::pack_site& at) const {
    at.times.assign(1, Number);
    return Number != 2;
  }
};

/// Tries one of a list at a pack, by a number from [0, 1) or one that it draws itself.
template <class List, class... Draw>
std::vector<double> made_by(typename List::drawn& said, detail::splitmix& numbers, Draw... draw) {
  std::vector<double> times{8};
  const solvers::search_options options;
  improve::pack_site at{times, 0, 0.5, numbers, options};
  said = List::try_one(at, draw...);
  return times;
}

// Weights 1, 0 and 3: the first quarter of the draws is the first one's. What is for other sites has no part in it.
TEST(Moves, AreDrawnByTheirWeights) {
  using list = improve::moves<idle, noting<1, 1>, noting<2, 0>, noting<3, 3>>;
  detail::splitmix numbers;
  list::drawn said;
  for (const auto& [draw, number] : {std::pair{0.0, 1.0}, {0.2499, 1}, {0.25, 3}, {0.9999, 3}}) {
    EXPECT_EQ(made_by<list>(said, numbers, draw), std::vector<double>{number}) << draw;
    EXPECT_EQ(said.move, number == 1 ? 1u : 3u);
    EXPECT_TRUE(said.wanted);
  }
  improve::moves<noting<2, 1>>::drawn unwanted;
  EXPECT_EQ((made_by<improve::moves<noting<2, 1>>>(unwanted, numbers, 0.0)), std::vector<double>{2});
  EXPECT_FALSE(unwanted.wanted) << "it said so";
}

// One that is alone at its kind of site is no choice, and none is drawn: searches with equal moves there draw alike.
TEST(Moves, DrawNoNumberWhereThereIsNoChoice) {
  detail::splitmix numbers, untouched;
  using one = improve::moves<idle, noting<1, 1>>;
  one::drawn alone;
  EXPECT_EQ(made_by<one>(alone, numbers), std::vector<double>{1});
  EXPECT_EQ(numbers.uniform(), untouched.uniform());
  using two = improve::moves<noting<1, 1>, noting<3, 3>>;
  two::drawn chosen;
  static_cast<void>(made_by<two>(chosen, numbers));
  untouched.uniform();
  EXPECT_EQ(numbers.uniform(), untouched.uniform());
}

TEST(Moves, AreNoneWhereNoneIsForTheSite) {
  detail::splitmix numbers;
  improve::moves<idle>::drawn said;
  EXPECT_EQ(made_by<improve::moves<idle>>(said, numbers, 0.5), std::vector<double>{8});
  EXPECT_EQ(said.move, improve::moves<idle>::size);
  EXPECT_FALSE(said.wanted);
}

TEST(MoveCounts, AreToldByName) {
  using list = improve::moves<idle, noting<1, 1>, noting<3, 3>>;
  improve::move_counts<list> counts, more;
  counts.of = {{{{}, 2, 0, {}}, {}, {{}, 5, 1, {0.5}}, {{}, 9, 0, {}}}};  // nine times there was no move
  more.of = {{{{}, 1, 0, {}}, {}, {{}, 1, 1, {0.25}}, {{}, 1, 0, {}}}};
  counts.add(more);
  solvers::search_report report;
  report.of("three").tried = 10;
  counts.add_to(report);
  EXPECT_EQ(report.moves(), (std::vector<solvers::move_report>{{"three", 16, 2, {0.75}}, {"idle", 3, 0, {}}}));
}

}  // namespace
}  // namespace slimpack::move_test
