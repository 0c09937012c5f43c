#include <slimpack/solvers/improve/shipped.hpp>

#include "move_sites.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace slimpack::take_test {
namespace {

using solvers::improve::take;
using tests::moved_pack;

// The square of a half of 16 s is 4, of a quarter 1.
TEST(Take, TakesOfTheNextByTheSquareOfItsShare) {
  EXPECT_EQ(moved_pack<take>({4, 8, 16}, 1, 0.5), (std::vector<double>{4, 12, 12}));
  EXPECT_EQ(moved_pack<take>({4, 8, 16}, 1, 0.25), (std::vector<double>{4, 9, 15}));
}

TEST(Take, LeavesTheLastPack) { EXPECT_EQ(moved_pack<take>({4, 8, 16}, 2, 0.5), (std::vector<double>{4, 8, 16})); }

}  // namespace
}  // namespace slimpack::take_test
