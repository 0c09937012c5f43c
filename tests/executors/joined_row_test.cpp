#include <slimpack/executors/joined/joined_row.hpp>
#include <slimpack/solvers/exchange_set.hpp>

#include <gtest/gtest.h>

#include <iterator>

namespace slimpack::joined_row_test {
namespace {

using executors::all_row_calls;
using executors::row_calls;

struct says_nothing {};
struct shares_alone {
  static constexpr bool shares_rows = true;
};
struct joins : shares_alone {
  static constexpr bool joins_rows = true;
};
struct joins_by_some {
  static constexpr exchange_set shares_rows = exchange_set::only(exchange::ring);
  static constexpr bool joins_rows = true;
};
struct says_no : shares_alone {
  static constexpr bool joins_rows = false;
};
struct says_no_and_shares_nothing {
  static constexpr bool joins_rows = false;
};

// Who shares rows is called for each of them, unless it says that it takes a whole pack's.
TEST(JoinedRow, IsForComputesThatSaySo) {
  EXPECT_TRUE(detail::joins_rows<joins>);
  EXPECT_TRUE(detail::joins_rows<joins_by_some>);
  EXPECT_FALSE(detail::joins_rows<says_nothing>);
  EXPECT_FALSE(detail::joins_rows<shares_alone>);
  EXPECT_FALSE(detail::joins_rows<says_no>);
  EXPECT_FALSE(detail::joins_rows<says_no_and_shares_nothing>);
}

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
}  // namespace slimpack::joined_row_test
