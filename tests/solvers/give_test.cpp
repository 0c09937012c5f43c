#include <slimpack/solvers/improve/shipped.hpp>

#include "move_sites.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace slimpack::give_test {
namespace {

using solvers::improve::give;
using tests::moved_pack;

// The square of a half of 8 s is 2, of a quarter 0.5.
TEST(Give, GivesToTheNextByTheSquareOfItsShare) {
  EXPECT_EQ(moved_pack<give>({4, 8, 16}, 1, 0.5), (std::vector<double>{4, 6, 18}));
  EXPECT_EQ(moved_pack<give>({4, 8, 16}, 1, 0.25), (std::vector<double>{4, 7.5, 16.5}));
}

TEST(Give, LeavesTheLastPack) { EXPECT_EQ(moved_pack<give>({4, 8, 16}, 2, 0.5), (std::vector<double>{4, 8, 16})); }

}  // namespace
}  // namespace slimpack::give_test
