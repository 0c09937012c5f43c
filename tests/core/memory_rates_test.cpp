#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/slice.hpp>

#include <gtest/gtest.h>

namespace slimpack::memory_rates_test {
namespace {

// 100 + 2 * 10 tokens live + 3 * 5 of prefixes under way + 7 or 11 * 4 running.
TEST(MemoryRates, AddUpWhatAStageHolds) {
  const memory_rates r{.fixed = 100, .live_token = 2, .gradient_token = 3, .forward_token = 7, .backward_token = 11};
  EXPECT_EQ(r.in_forward(10, 5, 4), 100 + 20 + 15 + 28);
  EXPECT_EQ(r.in_backward(10, 5, 4), 100 + 20 + 15 + 44);
  EXPECT_FALSE(r.counts_pairs());
}

// 4 queries behind 6 tokens have 40 pairs with all keys, masked ones too, of which they attend to 34.
TEST(MemoryRates, CountPairsOfWhatRuns) {
  constexpr slice s{{}, {6}, {4}};
  EXPECT_EQ(s.dense_pairs(), 40);
  EXPECT_EQ(s.pairs(), 34);
  const slice pack[]{s, {{1}, {0}, {3}}};
  EXPECT_EQ(dense_pairs_of(pack), 40 + 9);
  const memory_rates r{.fixed = 100, .live_token = 2, .forward_pair = 3, .backward_pair = 5};
  EXPECT_EQ(r.in_forward(10, 5, 4, 7), 100 + 20 + 21);
  EXPECT_EQ(r.in_backward(10, 5, 4, 7), 100 + 20 + 35);
  EXPECT_TRUE(r.counts_pairs());
}

TEST(MemoryRates, KeepLeastOfATokenThatNobodyReads) {
  EXPECT_EQ((memory_rates{.live_token = 12}.least_token()), 12);
  EXPECT_EQ((memory_rates{.live_token = 12, .prefix_token = 4}.least_token()), 8);
}

}  // namespace
}  // namespace slimpack::memory_rates_test
