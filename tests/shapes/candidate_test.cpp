#include <slimpack/shapes/ranking.hpp>

#include <gtest/gtest.h>

namespace slimpack::candidate_test {
namespace {

using shapes::candidate;
using shapes::outcome;

// Of a step of 8 s that no plan makes in less than 6.
TEST(Candidate, EfficiencyIsTheBoundsShareOfTheStep) {
  candidate c;
  c.lower_bound = {6}, c.step_time = {8};
  EXPECT_EQ(c.efficiency(), 0.75);
  c.lower_bound = {8};
  EXPECT_EQ(c.efficiency(), 1);
}

TEST(Candidate, EfficiencyIsNothingWhereNothingWasBounded) {
  candidate c;
  c.step_time = {8};
  EXPECT_EQ(c.efficiency(), 0);
}

// No step to hold against its bound: nothing says that it wastes any.
TEST(Candidate, WithoutAPlanWastesNothing) {
  candidate c;
  c.lower_bound = {6};
  EXPECT_EQ(c.efficiency(), 1);
  EXPECT_EQ(candidate{}.efficiency(), 1);
}

TEST(Candidate, IsUntriedUntilASearchHasJudgedIt) {
  const candidate c;
  EXPECT_EQ(c.outcome, outcome::untried);
  EXPECT_FALSE(c.finalist);
  EXPECT_TRUE(c.why.empty());
  EXPECT_EQ(c.missing, 0);
  EXPECT_EQ(c.layout, shapes::layout{});
  EXPECT_EQ(c.step_time, seconds{});
}

}  // namespace
}  // namespace slimpack::candidate_test
