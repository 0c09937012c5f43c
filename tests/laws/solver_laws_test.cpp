#include <slimpack/costs/quadratic.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/testing/solver_laws.hpp>

#include "cases.hpp"
#include "round_robin.hpp"

#include <gtest/gtest.h>

namespace slimpack::solver_laws_test {
namespace {

TEST(SolverLaws, HoldForTheSimplestSolver) {
  for (const int stages : {1, 4}) {
    for (const int replicas : {1, 3}) {
      const shape on{.stages = stages, .replicas = replicas};
      const testing::options o{.cases = tests::cases(20)};
      const auto hold = [&](const auto& schedule) {
        const testing::report found =
            testing::solver_laws(tests::round_robin{}, slicers::whole{}, costs::quadratic{}, schedule, on, o);
        EXPECT_TRUE(found) << found;
        for (const int law : {1, 2, 3, 4, 5}) EXPECT_GT(found.checks(law), 0) << "law " << law << " was not tried";
      };
      hold(schedules::one_f_one_b{});
      hold(schedules::list{});
    }
  }
}

}  // namespace
}  // namespace slimpack::solver_laws_test
