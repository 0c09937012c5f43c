#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/solvers/improve/move.hpp>
#include <slimpack/solvers/improve/shipped.hpp>
#include <slimpack/solvers/search_report.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/solvers/two_phase_with.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include "batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace slimpack::improve_test {
namespace {

namespace improve = solvers::improve;

const costs::quadratic cost{.per_pack = {6e-5}, .hop = {2e-5}};

std::vector<tokens> lengths() {
  std::vector<tokens> all{{60000}, {9000}, {9000}, {4000}};
  for (std::int64_t i = 0; i < 40; ++i) all.push_back({300 + 40 * i});
  return all;
}

template <class Solver, class Schedule = schedules::list>
plan planned(const Solver& solver, const Schedule& schedule = {}) {
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

TEST(Moves, OfShippedListsMakeTwoPhasesPlans) {
  EXPECT_EQ(planned(solvers::two_phase_with<improve::shipped>{}).hash, planned(solvers::two_phase{}).hash);
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
      .options = {.split_weight = 0, .join_weight = 0, .take_weight = 0, .give_weight = 0, .shift_weight = 0},
      .report = &report}));
  for (const char* name : {"split", "join", "take", "give", "shift"}) EXPECT_EQ(report.of(name).tried, 0u) << name;
  EXPECT_GT(report.of("merge").tried, 0u);
}

/// Draws as a walk does.
struct drawing {
  detail::splitmix random{};
  solvers::search_options options{};

  std::vector<double> after(double draw, std::vector<double> times, std::size_t pack, double share) {
    improve::pack_site at{times, pack, share, random, options};
    improve::shipped::try_one(at, draw);
    return times;
  }
};

// Four moves of borders, each a quarter of the draws. Of 8 s in the middle, half is 4; of 8 or 16 s, a square of a half, 2
// and 4.
TEST(Moves, OfBordersKeepTheWorkOfAPass) {
  drawing site;
  const std::vector<double> times{4, 8, 16};
  EXPECT_EQ(site.after(0.1, times, 1, 0.5), (std::vector<double>{4, 4, 4, 16}));  // split
  EXPECT_EQ(site.after(0.3, times, 1, 0.5), (std::vector<double>{4, 24}));        // join
  EXPECT_EQ(site.after(0.6, times, 1, 0.5), (std::vector<double>{4, 12, 12}));    // take
  EXPECT_EQ(site.after(0.9, times, 1, 0.5), (std::vector<double>{4, 6, 18}));     // give
}

TEST(Moves, OfTheLastPackLeaveItAsItIs) {
  drawing site;
  const std::vector<double> times{4, 8, 16};
  for (const double draw : {0.3, 0.6, 0.9}) EXPECT_EQ(site.after(draw, times, 2, 0.5), times) << draw;
}

TEST(Moves, LetASequenceRunBeforeAnother) {
  partition packs;
  for (const pass p : both_passes)
    for (std::uint32_t id : {0u, 1u, 2u}) packs.of(p).push({{id}, {0}, {10}}), packs.of(p).close();
  const std::vector<sequence> own{{{0}, {10}}, {{1}, {10}}, {{2}, {10}}};
  drawing numbers;
  improve::sequence_site at{packs, own, {100}, numbers.random, numbers.options};
  at.run_before(pass::forward, {2}, {0});
  const auto order = [&](pass p) {
    std::vector<std::uint32_t> ids;
    for (const slice& s : packs.of(p).slices()) ids.push_back(s.sequence.value);
    return ids;
  };
  EXPECT_EQ(order(pass::forward), (std::vector<std::uint32_t>{2, 0, 1}));
  EXPECT_EQ(order(pass::backward), (std::vector<std::uint32_t>{0, 1, 2}));
  at.run_before(pass::forward, {2}, {2});  // last of all
  EXPECT_EQ(order(pass::forward), (std::vector<std::uint32_t>{0, 1, 2}));
}

}  // namespace
}  // namespace slimpack::improve_test
