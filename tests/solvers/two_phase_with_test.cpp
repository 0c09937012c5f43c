#include <slimpack/basic_planner.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/solvers/two_phase_with.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace slimpack::two_phase_with_test {
namespace {

namespace improve = solvers::improve;
using solvers::search_budget;
using solvers::two_phase_with;

const costs::quadratic cost{.per_pack = {6e-5}, .hop = {2e-5}};

std::vector<tokens> lengths() {
  std::vector<tokens> all{{60000}, {9000}, {9000}, {4000}};
  for (std::int64_t i = 0; i < 40; ++i) all.push_back({300 + 40 * i});
  return all;
}

template <class Solver>
plan planned(const Solver& solver) {
  constexpr shape on{.stages = 4, .replicas = 2};
  return basic_planner{on, slicers::equal_cost{}, cost, solver, schedules::list{}, simulators::sweep{}}(lengths())
      .value();
}

TEST(TwoPhaseWith, MakesTwoPhasesPlansOfShippedMoves) {
  for (const search_budget effort : {search_budget::fast(), search_budget::normal()})
    EXPECT_EQ(planned(two_phase_with<improve::shipped>{{.effort = effort}}).hash,
              planned(solvers::two_phase{.effort = effort}).hash);
}

// All else is two_phase's: any list can be told to share nothing.
TEST(TwoPhaseWith, CanBeKeptFromSharing) {
  const two_phase_with<improve::moves<>> shared{{.effort = search_budget::fast()}};
  EXPECT_FALSE(planned(shared).merges.empty());
  EXPECT_TRUE(planned(without_sharing(shared)).merges.empty());
}

// Moves that are not in the list are not tried.
TEST(TwoPhaseWith, TriesTheMovesOfItsListAlone) {
  solvers::search_report report;
  using two = improve::moves<improve::split, improve::swap>;
  static_cast<void>(planned(two_phase_with<two>{{.effort = search_budget::fast(), .report = &report}}));
  EXPECT_GT(report.of("split").tried, 0u);
  for (const char* name : {"join", "take", "give", "shift", "merge", "reorder"})
    EXPECT_EQ(report.of(name).tried, 0u) << name;
}

/// Gives all to the first replica.
struct all_to_one {
  template <class Cost>
  [[nodiscard]] result<divide::division> divide(const divide::division_problem& asked, const Cost&) const {
    divide::division units;
    for (std::uint32_t r = 0; r < asked.replicas(); ++r) units.push_back({{r}, {}, {}});
    units.front().own = asked.batch;
    return units;
  }
};

TEST(TwoPhaseWith, PlansTheDivisionOfADivider) {
  const plan made = planned(two_phase_with<improve::shipped, all_to_one>{{.effort = search_budget::fast()}});
  EXPECT_EQ(made.replicas[0].sequences.size(), lengths().size());
  EXPECT_TRUE(made.replicas[1].sequences.empty());
}

// A replica's group can be planned alone where the division needs no plan.
template <class Solver>
concept plans_groups = requires(const Solver& s, const problem& batch) {
  s.solve_group(batch, slicers::equal_cost{}, cost, schedules::list{}, 0u);
};
static_assert(plans_groups<solvers::two_phase_estimated>);
static_assert(plans_groups<two_phase_with<improve::moves<>, all_to_one>>);
static_assert(!plans_groups<two_phase_with<improve::shipped>>);

TEST(TwoPhaseWith, PlansAGroupAsItsPartOfTheAnswer) {
  const std::vector<tokens> all = lengths();
  const problem batch{all, shape{.stages = 4, .replicas = 3}};
  const solvers::two_phase_estimated solver{{.effort = search_budget::fast()}};
  const solution whole = solver.solve(batch, slicers::equal_cost{}, cost, schedules::list{}).value();
  for (std::uint32_t replica = 0; replica < 3; ++replica) {
    const group_solution own =
        solver.solve_group(batch, slicers::equal_cost{}, cost, schedules::list{}, replica).value();
    for (std::uint32_t r = 0; r < 3; ++r) {
      const bool inside = std::find(own.replicas.begin(), own.replicas.end(), r) != own.replicas.end();
      EXPECT_TRUE(inside || r != replica);
      EXPECT_EQ(own.solved.replicas[r].partition, inside ? whole.replicas[r].partition : partition{});
      EXPECT_TRUE(!inside || own.solved.replicas[r].programs == whole.replicas[r].programs);
    }
  }
}

}  // namespace
}  // namespace slimpack::two_phase_with_test
