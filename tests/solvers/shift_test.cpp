#include <slimpack/solvers/improve/shipped.hpp>

#include "move_sites.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace slimpack::shift_test {
namespace {

using solvers::improve::shift;

TEST(Shift, MovesABorderEitherWayAndKeepsTheTime) {
  detail::splitmix random;
  int grown = 0, little = 0;
  for (int i = 0; i < 1000; ++i) {
    const tests::window made = tests::window::after<shift>({8, 4, 16}, pass::forward, random);
    ASSERT_TRUE(made.wanted);
    ASSERT_EQ(made.times.size(), 2u);
    EXPECT_DOUBLE_EQ(made.times[0] + made.times[1], 12);
    const double moved = std::abs(made.times[0] - 8);
    EXPECT_LE(moved, 4) << "no pack has less than nothing";
    grown += made.times[0] > 8;
    little += moved < 1;
  }
  // Half of the moves each way. Of a product of two numbers from [0, 1), a share of 1/4 (1 + log 4) = 0.60 is below
  // 1/4.
  EXPECT_NEAR(grown, 500, 60);
  EXPECT_NEAR(little, 597, 60);
}

TEST(Shift, WantsNothingOfTheLastPack) {
  detail::splitmix random;
  EXPECT_FALSE(tests::window::after<shift>({8}, pass::backward, random).wanted);
}

}  // namespace
}  // namespace slimpack::shift_test
