#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/refined.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/plan_laws.hpp>
#include <slimpack/testing/solver_laws.hpp>

#include "../support/drawn_batch.hpp"
#include "../support/every_plan.hpp"
#include "../support/kinds_cost.hpp"
#include "../support/random_forest.hpp"
#include "cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

/// Plans of layers of every kind, whose times may fall behind borders and whose pieces keep states.
namespace slimpack::kinds_laws_test {
namespace {

const solvers::two_phase quick{.effort = solvers::search_budget::fast()};

TEST(KindsLaws, HoldForSolvers) {
  testing::generator random(601);
  const auto hold = [&](const auto& solver, const auto& schedule) {
    for (int i = tests::cases(2); i > 0; --i) {
      const tests::state_cost cost(random, 1024);
      shape on{.stages = 3, .replicas = 2};
      if (i % 2 == 0) on.memory = memory_limit{memory_unit::byte, 1e4 * static_cast<double>(random.between(1, 4))};
      const testing::report found =
          testing::solver_laws(solver, slicers::equal_cost{}, cost, schedule, on,
                               {.seed = static_cast<std::uint64_t>(i), .cases = 1, .longest = {2048}});
      EXPECT_TRUE(found) << "seed 601, case " << i << '\n' << found;
    }
  };
  hold(quick, schedules::list{});
  hold(quick, schedules::zero_bubble{});
  hold(solvers::refined{quick}, schedules::list{});
  hold(solvers::chunked{{512}}, schedules::one_f_one_b{});
}

// A planner compares what its plan takes with bounds, and finds no contradiction.
TEST(KindsLaws, HoldForPlans) {
  testing::generator random(602);
  int planned = 0, borders = 0;
  for (int i = tests::cases(30); i > 0; --i) {
    SCOPED_TRACE("seed 602, case " + std::to_string(i));
    const tests::state_cost cost(random, 2048);
    const tests::random_forest batch(random, {.roots = 5, .depth = 3, .children = 3, .most = 20, .longest = {8192}});
    const std::vector<sequence_id> none;
    const bool forked = random.once_in(2);
    const batch_view given(batch.lengths, forked ? batch.parents : none);
    shape on{.stages = static_cast<int>(random.between(1, 4)),
             .replicas = static_cast<int>(random.between(1, 3)),
             .quantum = {128}};
    if (random.once_in(2))
      on.memory =
          memory_limit{memory_unit::byte, cost.memory(3)->live_token * static_cast<double>(given.longest().value) *
                                              (1 + 2 * random.ratio())};
    const result<plan> p = random.once_in(2)
                               ? planner{on, slicers::equal_cost{}, cost, quick, schedules::list{}}(given)
                               : planner{on, slicers::equal_cost{}, cost, quick, schedules::zero_bubble{}}(given);
    if (!p && p.error().code == errc::out_of_memory) continue;
    ASSERT_TRUE(p) << p.error().detail;
    const testing::report found = testing::plan_laws(p.value(), cost);
    EXPECT_TRUE(found) << found;
    EXPECT_LE(p.value().efficiency, 1 + 1e-12);
    ++planned, borders += cost.has_borders();
  }
  EXPECT_GT(planned, tests::cases(10));
  EXPECT_GT(borders, 0);
}

// Of tiny batches for which some plan keeps a limit in bytes, the search finds one of nearly all, and a short one, even
// though smaller packs have more pieces and so more states. None is shorter than the shortest there is.
TEST(KindsLaws, LetTheSearchFindWhatFits) {
  testing::generator random(603);
  int fit = 0, refused = 0;
  double sum = 0, worst = 0;
  for (int i = tests::cases(100); i > 0; --i) {
    const bool forked = random.once_in(3);
    shape on = tests::drawn_shape(random, forked);
    on.replicas = 1;
    const forest given = tests::drawn_batch(random, on.parts() == 4 ? 2 : 3, forked);
    const tests::state_cost cost(random);
    on.memory = memory_limit{memory_unit::byte,
                             cost.memory(on.stages - 1)->live_token *
                                 static_cast<double>(batch_view(given).longest().value + random.between(0, 60))};
    const seconds best = tests::shortest_step(cost, on, batch_view(given).sequences(), false);
    const result<plan> p = planner{on, slicers::equal_cost{}, cost}(given);
    if (!std::isfinite(best.value)) {
      EXPECT_FALSE(p) << "trying every plan missed one, seed 603, case " << i;
      continue;
    }
    ++fit, refused += !p;
    if (!p) continue;
    EXPECT_GE(p.value().step_time.value, best.value * (1 - 1e-12)) << "seed 603, case " << i;
    sum += p.value().step_time / best, worst = std::max(worst, p.value().step_time / best);
  }
  std::printf("%d batches fit, of which %d are refused; steps take %.4f of the shortest, at most %.4f\n", fit, refused,
              sum / (fit - refused), worst);
  EXPECT_LE(refused, fit / 20);
  EXPECT_LT(sum, 1.01 * (fit - refused));
}

}  // namespace
}  // namespace slimpack::kinds_laws_test
