#include <slimpack/solvers/milp/limits.hpp>

#include <gtest/gtest.h>

#include <sstream>

namespace slimpack::milp_limits_test {
namespace {

using solvers::milp_limits;

TEST(MilpLimits, ArePrintedAsTheyAreWritten) {
  std::ostringstream out;
  out << milp_limits{.gap = 0.5, .nodes = 10, .atoms = 4, .sequences = 16} << ' '
      << milp_limits{.gap = 0, .nodes = 1, .time = seconds{2}};
  EXPECT_EQ(out.str(),
            "{.gap = 0.5, .nodes = 10, .atoms = 4, .sequences = 16} "
            "{.gap = 0, .nodes = 1, .atoms = 8, .sequences = 512, .time = {2}}");
}

TEST(MilpLimits, AreEqualWhereAllOfThemAre) {
  EXPECT_EQ(milp_limits{}, milp_limits{});
  EXPECT_NE(milp_limits{}, (milp_limits{.atoms = 9}));
  EXPECT_NE(milp_limits{}, (milp_limits{.time = seconds{1}}));
}

}  // namespace
}  // namespace slimpack::milp_limits_test
