#include <slimpack/core/memory_rates.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
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

#include <cstdint>
#include <optional>

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

/// Whose running packs hold something for their pairs, whole numbers or not, beside what pieces keep or without.
template <class Cost>
struct with_pairs : Cost {
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const {
    return memory_rates{.fixed = 100.0 * stage,
                        .gradient_token = 0.5,
                        .backward_token = 1,
                        .forward_pair = 0.25 + stage / 3.0,
                        .backward_pair = 1.5};
  }
};

TEST(PairMemoryLaws, HoldForShippedSolvers) {
  const with_pairs<testing::dense_cost> kept{{{.per_pack = {6.4e-5}, .hop = {2.4e-5}}, {1}}};
  const with_pairs<costs::quadratic> alone{{.per_pack = {6.4e-5}, .hop = {2.4e-5}}};
  const solvers::two_phase quick{.effort = solvers::search_budget::fast()};
  std::int64_t fitting = 0;
  const auto obey = [&](const auto& solver, const auto& slicer, const auto& cost, const auto& schedule, shape on) {
    for (const double limit : {3e4, 3e5, 3e6, 2e9}) {
      on.memory = memory_limit{memory_unit::byte, limit};
      const testing::report found =
          testing::solver_laws(solver, slicer, cost, schedule, on, {.cases = tests::cases(3), .longest = {4096}});
      EXPECT_TRUE(found) << limit << " bytes\n" << found;
      if (limit < 1e9) fitting += found.checks(4);
    }
  };
  obey(quick, slicers::equal_cost{}, alone, schedules::list{}, {.stages = 4, .replicas = 2});
  obey(quick, slicers::equal_cost{}, kept, schedules::list{}, {.stages = 2});
  obey(quick, slicers::equal_cost{}, alone, schedules::list{}, {.stages = 3, .chunks = 2});
  obey(quick, slicers::equal_cost{}, alone, schedules::zero_bubble{}, {.stages = 3});
  obey(quick, slicers::equal_cost{}, alone, schedules::one_f_one_b{}, {.stages = 1});
  obey(solvers::megatron{}, slicers::whole{}, alone, schedules::one_f_one_b{.lead = 1}, {.stages = 4});
  EXPECT_GT(fitting, 100) << "plans that short limits allow were counted";
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
