#include <slimpack/core/detail/assert.hpp>

#include <gtest/gtest.h>

namespace assert_test {
namespace {

TEST(Assert, LetsThroughWhatHolds) {
  SLIMPACK_ASSERT(1 + 1 == 2, "arithmetic holds");
  SUCCEED();
}

#ifdef NDEBUG
TEST(Assert, AsksNothingInRelease) {
  int asked = 0;
  SLIMPACK_ASSERT(++asked > 1, "nobody asks");
  EXPECT_EQ(asked, 0);
}
#else
TEST(Assert, StopsWithItsSentence) {
  EXPECT_DEATH(SLIMPACK_ASSERT(1 + 1 == 3, "arithmetic holds"), "arithmetic holds");
}
#endif

}  // namespace
}  // namespace assert_test
