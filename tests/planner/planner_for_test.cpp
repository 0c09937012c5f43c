#include <slimpack/planner_for.hpp>

#include "../executors/everywhere.hpp"
#include "../executors/prefix_model.hpp"
#include "../executors/shared_prefix_model.hpp"
#include "../solvers/batches.hpp"

#include <slimpack/pricing/refine.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/baselines/dp_balanced.hpp>
#include <slimpack/solvers/baselines/karmarkar_karp.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>

#include <gtest/gtest.h>

#include <concepts>
#include <cstddef>
#include <string>
#include <vector>

namespace slimpack::planner_for_test {
namespace {

using simulator = detail::default_simulator;
template <class Solver, class Schedule = schedules::list>
using planner_of = planner<slicers::equal_cost, costs::quadratic, Solver, Schedule, simulator>;
template <class Compute>
using chosen_for = decltype(planner_for<Compute>(shape{}));

using arena = prefix_in_arena<backward_cuts::any>;
using graphs = prefix_by_piece;
using splitting = prefix_splitting<backward_cuts::any, false>;
using splitting_graphs = prefix_splitting<backward_cuts::forward_cuts, true>;
using sharing_arena = shared_prefix_stage<backward_cuts::any>;
using sharing_cuts = shared_prefix_stage<backward_cuts::forward_cuts>;

// What the type says of cuts and weight gradients is in the planner's type.
static_assert(std::same_as<chosen_for<arena>, planner_of<solvers::two_phase>>);
static_assert(std::same_as<chosen_for<graphs>, planner_of<solvers::refined<>>>);
static_assert(std::same_as<chosen_for<splitting>, planner_of<solvers::two_phase, schedules::zero_bubble>>);
static_assert(std::same_as<chosen_for<splitting_graphs>, planner_of<solvers::refined<>, schedules::zero_bubble>>);
static_assert(std::same_as<chosen_for<sharing_arena>, planner_of<solvers::two_phase>>);
static_assert(std::same_as<decltype(planner_for<graphs>(shape{}, {}, {}, solvers::refined{solvers::two_phase{}})),
                           chosen_for<graphs>>,
              "a solver that refines is not refined again");

/// A sequence that two replicas had better share, and others; small packs, so that there are many.
const std::vector<tokens> lengths = tests::lengths_of({160, 12, 7, 40, 1, 23});
constexpr shape two{.stages = 2, .replicas = 2, .quantum = {4}};
constexpr costs::quadratic cost{.attention = 1e-8, .per_pack = {2e-5}, .hop = {1e-5}};
constexpr solvers::two_phase quick{.effort = solvers::search_budget::fast()};

template <class Compute>
class PlannerFor : public ::testing::Test {};
using computes =
    ::testing::Types<arena, graphs, prefix_by_pack, splitting, splitting_graphs, sharing_arena, sharing_cuts>;
TYPED_TEST_SUITE(PlannerFor, computes);

TYPED_TEST(PlannerFor, MakesPlansThatTheComputeRunsExactly) {
  const plan p = planner_for<TypeParam>(two, {}, cost, quick)(lengths).value();
  EXPECT_EQ(p.merges.empty(), !detail::shares_rows<TypeParam>);
  std::vector<TypeParam> stages;
  for (int rank = 0; rank < tests::ranks_of(p); ++rank) stages.emplace_back(rank % two.stages, two.stages, two.chunks);
  const auto reports = tests::run_everywhere(p, stages);
  const std::size_t layers = stages[0].gradient().size();
  const prefix_model::gradients expected = prefix_model::whole(lengths, two.stages * static_cast<int>(layers));
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    ASSERT_TRUE(reports[rank]) << reports[rank].error().detail;
    EXPECT_EQ(reports[rank].value().loss_sum, expected.loss);
    for (std::size_t k = 0; k < layers; ++k)
      EXPECT_EQ(stages[rank].gradient()[k], expected.weight[rank % 2 * layers + k]) << "rank " << rank;
  }
}

TEST(PlannerFor, CutsBothPassesAlikeWhereBackwardTakesForwardPieces) {
  const plan p = planner_for<graphs>(two, {}, cost, quick)(lengths).value();
  for (const replica_plan& r : p.replicas) EXPECT_EQ(common_refinement(r.partition), r.partition);
}

TEST(PlannerFor, RunsWeightGradientsApartWhereTheComputeSplitsThem) {
  const auto apart = [](const plan& p) {
    std::size_t count = 0;
    for (const replica_plan& r : p.replicas) count += r.times.apart.count();
    return count;
  };
  EXPECT_GT(apart(planner_for<splitting>(two, {}, cost, quick)(lengths).value()), 0u);
  EXPECT_EQ(apart(planner_for<arena>(two, {}, cost, quick)(lengths).value()), 0u);
}

TEST(PlannerFor, TakesPoliciesAsPlannerDoes) {
  const auto plan_of = [](const auto& plan_batch) { return plan_batch(lengths).value().hash; };
  const solvers::two_phase two_sharers{.effort = quick.effort, .most_sharers = 2};
  EXPECT_EQ(plan_of(planner_for<sharing_arena>(two, slicers::equal_cost{}, cost, two_sharers)),
            plan_of(planner{two, slicers::equal_cost{}, cost, two_sharers}));
  EXPECT_EQ(plan_of(planner_for<sharing_arena>(two, {}, {}, {.effort = quick.effort, .most_sharers = 1})),
            plan_of(planner_for<arena>(two, {}, {}, {.effort = quick.effort})));
  EXPECT_EQ(
      plan_of(planner_for<arena>(two, slicers::whole{}, cost, solvers::megatron{}, schedules::one_f_one_b{.lead = 1})),
      plan_of(planner{two, slicers::whole{}, cost, solvers::megatron{}, schedules::one_f_one_b{.lead = 1}}));
}

TEST(PlannerFor, TakesEveryBaselineForAComputeThatSharesNothing) {
  const auto plans = [](auto slicer, auto solver) {
    return planner_for<arena>(two, slicer, cost, solver)(lengths).has_value() &&
           planner_for<graphs>(two, slicer, cost, solver)(lengths).has_value();
  };
  EXPECT_TRUE(plans(slicers::whole{}, solvers::megatron{}));
  EXPECT_TRUE(plans(slicers::whole{}, solvers::dp_balanced{}));
  EXPECT_TRUE(plans(slicers::whole{}, solvers::karmarkar_karp{}));
  EXPECT_TRUE(plans(slicers::equal_cost{}, solvers::chunked{}));
}

}  // namespace
}  // namespace slimpack::planner_for_test
