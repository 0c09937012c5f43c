#include <slimpack/costs/quadratic.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/baselines/dp_balanced.hpp>
#include <slimpack/solvers/baselines/karmarkar_karp.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/baselines/tree_micro_batches.hpp>
#include <slimpack/solvers/refined.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/solvers/two_phase_with.hpp>
#include <slimpack/testing/solver_laws.hpp>

#include "cases.hpp"

#include <gtest/gtest.h>

namespace slimpack::shipped_solvers_test {
namespace {

/// A solver with the slicer and the schedule that it is meant for, or that it must put up with.
template <class Solver, class Slicer, class Schedule>
struct combination {
  Solver solver{};
  Slicer slicer{};
  Schedule schedule{};
};

template <class Combination>
class ShippedSolvers : public ::testing::Test {};

using list = schedules::list;
struct classic : schedules::one_f_one_b {
  classic() : one_f_one_b{.lead = 1} {}
};
struct quick : solvers::two_phase {  // laws hold for any budget
  quick() : two_phase{.effort = {30'000, 6}} {}
};
struct thorough : solvers::two_phase {  // ten times as long, so with the effort of users under --full only
  thorough() : two_phase{} {
    if (tests::cases(1) == 1) effort = quick{}.effort;
  }
};
struct by_estimates : solvers::two_phase_estimated {
  by_estimates() : solvers::two_phase_estimated{quick{}} {}
};
struct narrow : slicers::uniform {
  narrow() : uniform{.at_most = {512}} {}
};

using combinations =
    ::testing::Types<combination<thorough, slicers::equal_cost, list>,
                     combination<quick, slicers::equal_cost, schedules::one_f_one_b>, combination<quick, narrow, list>,
                     combination<quick, slicers::whole, classic>, combination<by_estimates, slicers::equal_cost, list>,
                     combination<solvers::tree_micro_batches, slicers::whole, list>,
                     combination<solvers::megatron, slicers::whole, classic>,
                     combination<solvers::megatron, slicers::whole, list>,
                     combination<solvers::dp_balanced, slicers::whole, classic>,
                     combination<solvers::karmarkar_karp, slicers::whole, classic>,
                     combination<solvers::chunked, slicers::equal_cost, schedules::one_f_one_b>,
                     combination<solvers::refined<quick>, slicers::equal_cost, list>,
                     combination<solvers::refined<solvers::megatron>, slicers::whole, classic>,
                     combination<solvers::refined<solvers::dp_balanced>, slicers::whole, classic>,
                     combination<solvers::refined<solvers::karmarkar_karp>, slicers::whole, classic>,
                     combination<solvers::refined<solvers::chunked>, slicers::equal_cost, schedules::one_f_one_b>>;
TYPED_TEST_SUITE(ShippedSolvers, combinations);

TYPED_TEST(ShippedSolvers, ObeyTheLaws) {
  const TypeParam c;
  const costs::quadratic cost{.per_pack = {6.4e-5}, .hop = {2.4e-5}};
  int k = 0;
  for (const shape& on :
       {shape{.stages = 3, .replicas = 3}, shape{}, shape{.stages = 4}, shape{.stages = 2, .replicas = 2}}) {
    for (const tokens quantum : {tokens{1}, tokens{128}}) {
      if (!tests::is_tried(k++)) continue;
      const testing::options o{
          .cases = tests::cases(4), .longest = quantum * (tests::under_sanitizer ? 128 : 512), .quantum = quantum};
      const testing::report found = testing::solver_laws(c.solver, c.slicer, cost, c.schedule, on, o);
      EXPECT_TRUE(found) << on.stages << " stages, " << on.replicas << " replicas\n" << found;
      for (const int law : {1, 2, 3, 4, 5}) EXPECT_GT(found.checks(law), 0) << "law " << law << " was not tried";
    }
  }
}

}  // namespace
}  // namespace slimpack::shipped_solvers_test
