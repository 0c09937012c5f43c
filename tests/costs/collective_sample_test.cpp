#include <slimpack/costs/network/collective_sample.hpp>

#include <gtest/gtest.h>

namespace slimpack::collective_sample_test {
namespace {

using costs::collective;
using costs::collective_sample;

collective_sample of_two(int per_node) {
  return {.gpu = "A100",
          .op = collective::all_reduce,
          .ranks = 2,
          .ranks_per_node = per_node,
          .size = {1 << 20},
          .time = {1e-4}};
}

TEST(CollectiveSample, OfRanksOnTwoNodesIsNotThatOfNeighbours) {
  EXPECT_EQ(of_two(2), of_two(2));
  EXPECT_NE(of_two(2), of_two(1));
}

TEST(CollectiveSample, OfAnotherCollectiveIsAnother) {
  collective_sample gathered = of_two(2);
  gathered.op = collective::all_gather;
  EXPECT_NE(gathered, of_two(2));
}

TEST(CollectiveSample, NamesNoNodeWhereItsTableDoesNot) { EXPECT_TRUE(of_two(2).node.empty()); }

}  // namespace
}  // namespace slimpack::collective_sample_test
