#include <slimpack/costs/quadratic.hpp>
#include <slimpack/forests/fork_price.hpp>

#include <gtest/gtest.h>

namespace slimpack::fork_price_test {
namespace {

using namespace forests;

TEST(ForkPrice, IsAPackAndACallInEachPass) {
  const costs::quadratic cost{.linear = 1, .attention = 0, .per_pack = {10}, .per_call = {3}};
  EXPECT_DOUBLE_EQ(fork_price(cost, {5}, {100}, 1).value, 2 * (10 + 3));
  EXPECT_DOUBLE_EQ(fork_price(cost, {5}, {100}, 4).value, 4 * 2 * (10 + 3));
}

//  A token takes 1 + 2 s in both passes, so the fork costs (2 x 10 + 2 x 3) / 3 = 8.67 tokens.
TEST(LeastShared, IsWhatTheForkCostsInTokens) {
  EXPECT_EQ(least_shared(costs::quadratic{.linear = 1, .attention = 0, .per_pack = {10}, .per_call = {3}}, 2),
            tokens{9});
  EXPECT_EQ(least_shared(costs::quadratic{.linear = 1, .attention = 0, .per_pack = {9}}, 1), tokens{6});
}

TEST(LeastShared, IsOneTokenWhereForksCostNothing) { EXPECT_EQ(least_shared(costs::quadratic{}, 4), tokens{1}); }

TEST(LeastShared, IsBeyondAllLengthsWhereNoForkPays) {
  EXPECT_EQ(least_shared(costs::quadratic{.linear = 0, .attention = 0, .per_pack = {1}}, 1), longest_supported);
}

/// A slice shorter than a tile takes as long as a tile.
struct tiled {
  [[nodiscard]] seconds time(const slice& s, pass, int) const {
    return {static_cast<double>((s.length.value + 127) / 128)};
  }
};

//  Of 128 tokens nothing is lost; of n < 128, 1 + 32 - 33 = 0 tiles, since the whole of 4096 + n has a short tile, too.
//  With 100 tokens behind, n = 28 takes 1 + 1 - 1 = 1 tile more, which is what it saves.
TEST(LeastShared, CountsWhatACutLoses) {
  EXPECT_EQ(least_shared(tiled{}, 1), tokens{1});
  EXPECT_DOUBLE_EQ(fork_price(tiled{}, {28}, {100}, 1).value, 2);
  EXPECT_DOUBLE_EQ(fork_price(tiled{}, {128}, {100}, 1).value, 0);
}

}  // namespace
}  // namespace slimpack::fork_price_test
