#include <slimpack/costs/network/placement.hpp>

#include <gtest/gtest.h>

namespace slimpack::rank_group_test {
namespace {

using costs::rank_group;

TEST(RankGroup, IsARankAloneWhereNothingIsSaid) { EXPECT_EQ(rank_group{}, (rank_group{1, 1, 1})); }

TEST(RankGroup, OfAsManyRanksFartherApartIsAnother) {
  EXPECT_NE((rank_group{.ranks = 4, .nodes = 1, .islands = 2}), (rank_group{.ranks = 4, .nodes = 2, .islands = 2}));
  EXPECT_NE((rank_group{.ranks = 4, .nodes = 1, .islands = 2}), (rank_group{.ranks = 4, .nodes = 1, .islands = 1}));
  EXPECT_NE((rank_group{.ranks = 4}), (rank_group{.ranks = 2}));
}

}  // namespace
}  // namespace slimpack::rank_group_test
