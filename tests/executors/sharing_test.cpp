#include <slimpack/executors/sharing.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace slimpack::sharing_test {
namespace {

TEST(Parcel, IsUnderWayAndEmptyUntilFilled) {
  const parcel p;
  EXPECT_FALSE(p.is_home);
  EXPECT_TRUE(p.tokens.empty() && p.rows.empty() && p.sums.empty());
}

TEST(Parcel, ShowsWhatItsOwnerLaunchedWithoutACopy) {
  const slice tokens{{0}, {4}, {2}};
  const std::byte rows[8]{};
  const parcel p{.owner = 1, .tokens = {&tokens, 1}, .rows = rows, .sums = {}};
  EXPECT_EQ(p.tokens.data(), &tokens);
  EXPECT_EQ(p.rows.data(), rows);
  EXPECT_EQ(p.rows.size(), 8u);
}

}  // namespace
}  // namespace slimpack::sharing_test
