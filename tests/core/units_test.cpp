#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>

#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>

namespace slimpack::units_test {
namespace {

template <class A, class B>
concept adds = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept compares = requires(A a, B b) {
  a < b;
};

static_assert(adds<tokens, tokens>);
static_assert(!adds<tokens, seconds> && !adds<seconds, bytes>, "units do not mix");
static_assert(!compares<tokens, seconds> && !compares<sequence_id, pack_id>);
static_assert(!std::convertible_to<double, seconds> && !std::convertible_to<seconds, double>);
static_assert(std::same_as<decltype(seconds{1} / seconds{2}), double>, "a ratio has no unit");

TEST(Quantity, AddsSubtractsScalesAndCompares) {
  tokens t{5};
  t += tokens{3};
  t -= tokens{1};
  EXPECT_EQ(t, tokens{7});
  EXPECT_EQ(t * 3, tokens{21});
  EXPECT_EQ(2 * seconds{0.5}, seconds{1});
  EXPECT_LT(tokens{6}, t);
  EXPECT_EQ(tokens{}, tokens{0});
}

TEST(Quantity, DividesIntoARatio) { EXPECT_EQ(tokens{1} / tokens{4}, 0.25); }

// Query i of a slice at b attends to b + i + 1 keys. Counted one by one.
TEST(Slice, CountsCausalPairs) {
  for (const std::int64_t begin : {0, 1, 128, 4096})
    for (const std::int64_t length : {1, 2, 127, 128}) {
      double pairs = 0;
      for (std::int64_t i = 0; i < length; ++i) pairs += static_cast<double>(begin + i + 1);
      EXPECT_EQ((slice{{0}, {begin}, {length}}).pairs(), pairs);
    }
}

// n (n + 1) / 2 of 2^31 - 1 tokens, 2^61: beyond the integers of a double, within its range.
TEST(Slice, CountsPairsOfTheLongestSequence) {
  const double n = 2147483647.0;
  EXPECT_DOUBLE_EQ((slice{{0}, {0}, longest_supported}).pairs(), n * (n + 1) / 2);
}

TEST(Slice, EndsWhereTheNextBegins) { EXPECT_EQ((slice{{3}, {128}, {64}}).end(), tokens{192}); }

TEST(Shape, CutsTheModelIntoStagesTimesChunks) {
  shape on;
  EXPECT_EQ(on.parts(), 1);
  on.stages = 4;
  on.chunks = 3;
  EXPECT_EQ(on.parts(), 12);
  EXPECT_FALSE(on.memory.has_value());
}

// 100 + 10 x 4 + 2 x 3 + 5 x 1 forward, and 7 x 1 for a backward.
TEST(MemoryRates, CountWhatRunsOnlyWhileItRuns) {
  constexpr memory_rates rates{
      .fixed = 100, .live_token = 10, .gradient_token = 2, .forward_token = 5, .backward_token = 7};
  static_assert(rates.in_forward(4, 3, 1) == 151);
  static_assert(rates.in_backward(4, 3, 1) == 153);
  constexpr memory_rates in_tokens;
  static_assert(in_tokens.in_forward(4, 3, 1) == 4 && in_tokens.in_backward(4, 3, 1) == 4,
                "by default, live tokens alone");
}

}  // namespace
}  // namespace slimpack::units_test
