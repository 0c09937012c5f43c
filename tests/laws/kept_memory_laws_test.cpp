#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/refined.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/testing/cost_model_laws.hpp>
#include <slimpack/testing/random_replica.hpp>
#include <slimpack/testing/solver_laws.hpp>

#include "cases.hpp"

#include <gtest/gtest.h>

namespace slimpack::kept_memory_laws_test {
namespace {

const testing::dense_cost dense{{.per_pack = {6.4e-5}, .hop = {2.4e-5}}, {1}};

/// From too little for any but short sequences to enough for all: 24 of 4096 tokens keep at most 403 MB of scores on
/// stage 0 and four times that on stage 3. Where not all are tried, the first is number k.
template <class Solver, class Slicer, class Schedule>
void obey_limits_in_bytes(int k, const Solver& solver, const Slicer& slicer, const Schedule& schedule) {
  for (const double limit : {1e5, 1e6, 1e7, 1e8, 2e9}) {
    if (!tests::is_tried(k++)) continue;
    const shape on{.stages = 4, .replicas = 2, .memory = memory_limit{memory_unit::byte, limit}};
    const testing::report found =
        testing::solver_laws(solver, slicer, dense, schedule, on, {.cases = tests::cases(4), .longest = {4096}});
    EXPECT_TRUE(found) << limit << " bytes\n" << found;
    EXPECT_GT(found.checks(4), limit >= 2e9 ? 100 : 0) << "plans that fit were counted, not refused";
  }
}

TEST(KeptMemoryLaws, HoldForShippedSolvers) {
  const solvers::two_phase quick{.effort = solvers::search_budget::fast()};
  obey_limits_in_bytes(1, quick, slicers::equal_cost{}, schedules::list{});
  obey_limits_in_bytes(2, quick, slicers::equal_cost{}, schedules::one_f_one_b{});
  obey_limits_in_bytes(3, solvers::refined{quick}, slicers::equal_cost{}, schedules::list{});
  obey_limits_in_bytes(4, solvers::megatron{}, slicers::whole{}, schedules::one_f_one_b{.lead = 1});
  obey_limits_in_bytes(5, solvers::chunked{{1024}}, slicers::equal_cost{}, schedules::one_f_one_b{});
}

TEST(KeptMemoryLaws, HoldForTheCostModel) {
  const testing::report found = testing::cost_model_laws(dense, 4, {.cases = tests::cases(50)});
  EXPECT_TRUE(found) << found;
}

struct negative : testing::dense_cost {
  [[nodiscard]] bytes kept(const slice&, int) const { return {-1}; }
};

TEST(KeptMemoryLaws, FindNegativeBytes) {
  const testing::report found = testing::cost_model_laws(negative{}, 1, {.cases = 1});
  EXPECT_GT(found.broken(1), 0);
}

}  // namespace
}  // namespace slimpack::kept_memory_laws_test
