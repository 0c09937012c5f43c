#include <slimpack/core/memory_rates.hpp>

#include <gtest/gtest.h>

namespace slimpack::memory_rates_test {
namespace {

// 100 + 2 * 10 tokens live + 3 * 5 of prefixes under way + 7 or 11 * 4 running.
TEST(MemoryRates, AddUpWhatAStageHolds) {
  const memory_rates r{.fixed = 100, .live_token = 2, .gradient_token = 3, .forward_token = 7, .backward_token = 11};
  EXPECT_EQ(r.in_forward(10, 5, 4), 100 + 20 + 15 + 28);
  EXPECT_EQ(r.in_backward(10, 5, 4), 100 + 20 + 15 + 44);
}

TEST(MemoryRates, KeepLeastOfATokenThatNobodyReads) {
  EXPECT_EQ((memory_rates{.live_token = 12}.least_token()), 12);
  EXPECT_EQ((memory_rates{.live_token = 12, .prefix_token = 4}.least_token()), 8);
}

}  // namespace
}  // namespace slimpack::memory_rates_test
