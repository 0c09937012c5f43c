#include <slimpack/core/detail/indices.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace slimpack::ascending_test {
namespace {

TEST(Ascending, IsEachNumberAboveTheOneBefore) {
  const auto rises = [](const std::vector<std::uint32_t>& numbers) { return detail::is_ascending(numbers); };
  EXPECT_TRUE(rises({}));
  EXPECT_TRUE(rises({7}));
  EXPECT_TRUE(rises({0, 1, 5}));
  EXPECT_FALSE(rises({0, 5, 1}));
  EXPECT_FALSE(rises({0, 1, 1}));
}

}  // namespace
}  // namespace slimpack::ascending_test
