#include <slimpack/costs/quadratic.hpp>

#include <gtest/gtest.h>

#include <sstream>

namespace slimpack::quadratic_test {
namespace {

using costs::quadratic;

// 4 tokens at 2: pairs 3 + 4 + 5 + 6 = 18. Forward 10 x 4 + 18 = 58; backward 2 x 40 + 3 x 18 = 134.
TEST(Quadratic, CountsTokensAndPairs) {
  constexpr quadratic cost{.linear = 10, .attention = 1, .backward_linear = 2, .backward_attention = 3};
  constexpr slice s{{0}, {2}, {4}};
  static_assert(cost.time(s, pass::forward, 0) == seconds{58});
  static_assert(cost.time(s, pass::backward, 0) == seconds{134});
  static_assert(cost.weight_time(s, 0) == seconds{40}, "half of the linear backward, no attention");
}

TEST(Quadratic, IsTheSameOnEveryPart) {
  const slice s{{0}, {128}, {512}};
  EXPECT_EQ(quadratic{}.time(s, pass::forward, 0), quadratic{}.time(s, pass::forward, 7));
}

TEST(Quadratic, ChargesAPackACallAndAMessageTheSameInBothPasses) {
  constexpr quadratic cost{.per_pack = {6e-5}, .hop = {2e-5}, .per_call = {3e-5}};
  for (const pass p : {pass::forward, pass::backward}) {
    EXPECT_EQ(cost.overhead(p, 3), seconds{6e-5});
    EXPECT_EQ(cost.call_overhead(p, 3), seconds{3e-5});
    EXPECT_EQ(cost.message({1}, p, 0), cost.message({1000}, p, 5));
    EXPECT_EQ(cost.message({1}, p, 0), seconds{2e-5});
  }
}

// Over n tokens, linear n = attention n (n+1) / 2 at n = 49151 with these defaults.
TEST(Quadratic, BalancesLinearAndAttentionOver49152TokensByDefault) {
  const quadratic cost;
  EXPECT_NEAR(cost.attention * 49153 / 2, cost.linear, 1e-4 * cost.linear);
}

TEST(Quadratic, PrintsWhatWouldBuildIt) {
  std::ostringstream text;
  text << quadratic{.linear = 1,
                    .attention = 2,
                    .backward_linear = 3,
                    .backward_attention = 4,
                    .per_pack = {5},
                    .hop = {6},
                    .per_call = {7}};
  EXPECT_EQ(text.str(),
            "costs::quadratic{.linear = 1, .attention = 2, .backward_linear = 3, .backward_attention = 4, "
            ".per_pack = {5}, .hop = {6}, .per_call = {7}}");
}

}  // namespace
}  // namespace slimpack::quadratic_test
