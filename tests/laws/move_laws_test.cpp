#include <slimpack/solvers/improve/shipped.hpp>
#include <slimpack/testing/improve/move_laws.hpp>

#include "cases.hpp"

#include <gtest/gtest.h>

namespace slimpack::move_laws_test {
namespace {

namespace improve = solvers::improve;

template <class... Moves>
void expect_laws(improve::moves<Moves...>) {
  const auto hold = [](const auto& move) {
    const testing::report found = testing::move_laws(move, {.seed = 3, .cases = tests::cases(40), .longest = {8192}});
    EXPECT_TRUE(found) << move.name << ": " << found;
    for (const int law : {1, 2, 3}) EXPECT_GT(found.checks(law), 0) << move.name << ": law " << law << " was not tried";
  };
  (hold(Moves{}), ...);
}

TEST(MoveLaws, HoldForAllShippedMoves) { expect_laws(improve::shipped{}); }

}  // namespace
}  // namespace slimpack::move_laws_test
