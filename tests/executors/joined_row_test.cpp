#include <slimpack/executors/joined/joined_row.hpp>
#include <slimpack/solvers/exchange_set.hpp>

#include <gtest/gtest.h>

namespace slimpack::joined_row_test {
namespace {

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

}  // namespace
}  // namespace slimpack::joined_row_test
