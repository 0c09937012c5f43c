#include <slimpack/core/gradient_reduction.hpp>

#include <gtest/gtest.h>

namespace slimpack::gradient_reduction_test {
namespace {

/// Two parts: one with two buckets, of which the second begins at half of a pack's time, and one with one.
gradient_reduction two_parts() {
  return {.parts = {{{.at = 0, .scatter = {3}, .gather = {2}}, {.at = 0.5, .scatter = {3}, .gather = {2}}},
                    {{.at = 0, .scatter = {4}, .gather = {1}}}},
          .after = {5}};
}

TEST(GradientReduction, IsItsBucketsAndWhatFollowsThem) {
  EXPECT_EQ(two_parts(), two_parts());
  gradient_reduction elsewhere = two_parts();
  elsewhere.parts[0][1].at = 0.75;
  EXPECT_NE(elsewhere, two_parts());
  for (seconds gradient_bucket::*time : {&gradient_bucket::scatter, &gradient_bucket::gather}) {
    gradient_reduction other = two_parts();
    other.parts[1][0].*time = {7};
    EXPECT_NE(other, two_parts());
  }
  gradient_reduction later = two_parts();
  later.after = {6};
  EXPECT_NE(later, two_parts());
}

TEST(GradientReduction, TakesNoTimeWhereNothingIsSaid) {
  EXPECT_TRUE(gradient_reduction{}.parts.empty());
  EXPECT_EQ(gradient_reduction{}.after, seconds{});
  EXPECT_EQ(gradient_bucket{}, (gradient_bucket{0, {0}, {0}}));
}

TEST(GradientSpan, IsItsBeginAndItsEnd) {
  EXPECT_EQ((gradient_span{{1}, {2}}), (gradient_span{{1}, {2}}));
  EXPECT_NE((gradient_span{{1}, {2}}), (gradient_span{{1}, {3}}));
  EXPECT_NE((gradient_span{{1}, {2}}), (gradient_span{{0}, {2}}));
}

}  // namespace
}  // namespace slimpack::gradient_reduction_test
