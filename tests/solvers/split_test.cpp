#include <slimpack/solvers/improve/shipped.hpp>

#include "move_sites.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace slimpack::split_test {
namespace {

using solvers::improve::split;
using tests::moved_pack;

// Of 8 s a share of a half, and of an eighth, is the first of two.
TEST(Split, MakesTwoPacksOfTheSameTime) {
  EXPECT_EQ(moved_pack<split>({4, 8, 16}, 1, 0.5), (std::vector<double>{4, 4, 4, 16}));
  EXPECT_EQ(moved_pack<split>({4, 8, 16}, 1, 0.125), (std::vector<double>{4, 1, 7, 16}));
}

TEST(Split, TakesTheLastPackToo) {
  EXPECT_EQ(moved_pack<split>({4, 8}, 1, 0.25), (std::vector<double>{4, 2, 6}));
  EXPECT_EQ(moved_pack<split>({4}, 0, 0.25), (std::vector<double>{1, 3}));
}

}  // namespace
}  // namespace slimpack::split_test
