#include <slimpack/solvers/improve/shipped.hpp>

#include "move_sites.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace slimpack::join_test {
namespace {

using solvers::improve::join;
using tests::moved_pack;

TEST(Join, MakesOnePackOfTwo) {
  EXPECT_EQ(moved_pack<join>({4, 8, 16}, 0, 0.5), (std::vector<double>{12, 16}));
  EXPECT_EQ(moved_pack<join>({4, 8, 16}, 1, 0.5), (std::vector<double>{4, 24}));
}

TEST(Join, LeavesTheLastPack) { EXPECT_EQ(moved_pack<join>({4, 8, 16}, 2, 0.5), (std::vector<double>{4, 8, 16})); }

}  // namespace
}  // namespace slimpack::join_test
