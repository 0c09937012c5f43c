#include <slimpack/executors/joined/joined_row.hpp>

#include <gtest/gtest.h>

#include <iterator>

namespace slimpack::row_calls_test {
namespace {

using executors::all_row_calls;
using executors::row_calls;

// A stage then holds what the plan says, so nothing else may be the default.
TEST(RowCalls, AreApartWhereNothingIsSaid) { EXPECT_EQ(row_calls{}, row_calls::apart); }

TEST(RowCalls, AreNamed) {
  EXPECT_EQ(name_of(row_calls::apart), "apart");
  EXPECT_EQ(name_of(row_calls::joined), "joined");
}

TEST(RowCalls, BothAreListedOnce) {
  ASSERT_EQ(std::size(all_row_calls), 2u);
  EXPECT_EQ(all_row_calls[0], row_calls::apart);
  EXPECT_EQ(all_row_calls[1], row_calls::joined);
}

}  // namespace
}  // namespace slimpack::row_calls_test
