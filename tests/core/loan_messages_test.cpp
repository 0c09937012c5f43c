#include <slimpack/core/lending/loan_messages.hpp>

#include <gtest/gtest.h>

namespace slimpack::loan_messages_test {
namespace {

TEST(LoanMessages, TakeNothingInTheOneLayerOfAPartWhereACostModelSaysNothing) {
  const loan_messages m;
  EXPECT_EQ(m.layers, 1);
  EXPECT_EQ(m.context, seconds{});
  EXPECT_EQ(m.queries, seconds{});
  EXPECT_EQ(m.results, seconds{});
}

// A cost model answers {layers, context, queries, results}: the order in which they are sent.
TEST(LoanMessages, AreListedInTheOrderInWhichTheyAreSent) {
  constexpr loan_messages m{8, {3}, {2}, {5}};
  EXPECT_EQ(m.layers, 8);
  EXPECT_EQ(m.context, seconds{3});
  EXPECT_EQ(m.queries, seconds{2});
  EXPECT_EQ(m.results, seconds{5});
}

TEST(LoanMessages, AreEqualWhereAllFourAre) {
  constexpr loan_messages m{8, {3}, {2}, {5}};
  static_assert(m == loan_messages{8, {3}, {2}, {5}});
  EXPECT_NE(m, (loan_messages{7, {3}, {2}, {5}}));
  EXPECT_NE(m, (loan_messages{8, {4}, {2}, {5}}));
  EXPECT_NE(m, (loan_messages{8, {3}, {1}, {5}}));
  EXPECT_NE(m, (loan_messages{8, {3}, {2}, {6}}));
}

}  // namespace
}  // namespace slimpack::loan_messages_test
