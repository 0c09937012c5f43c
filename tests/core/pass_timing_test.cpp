#include <slimpack/core/pass_timing.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::pass_timing_test {
namespace {

// Packs of 3 and 5 bytes on stage 1, of nothing on stage 0.
TEST(PassTiming, TellsWhatAPackKeepsBesideItsTokens) {
  const pass_timing packs{.time = {}, .message = {}, .before = {0, 1, 2}, .kept = {0, 0, 0, 0, 3, 8}};
  EXPECT_EQ(packs.size(), 2u);
  EXPECT_EQ(packs.kept_by(0, 1), 3);
  EXPECT_EQ(packs.kept_by(1, 1), 5);
  EXPECT_EQ(packs.kept_by(1, 0), 0);
}

TEST(PassTiming, KeepsNothingWhereTheCostModelDoesNotSay) {
  const pass_timing packs{.time = {}, .message = {}, .before = {0, 7}};
  EXPECT_EQ(packs.kept_by(0, 3), 0);
  EXPECT_EQ(pass_timing{}.size(), 0u);
}

// Of four parts there are three boundaries: those behind parts 0, 1, 2 forward, before parts 1, 2, 3 backward.
TEST(PassTiming, HasAMessageForEachBoundary) {
  const std::vector<int> pack{10, 11, 12, 13};
  const auto forward = detail::boundaries(std::span(pack), pass::forward);
  const auto backward = detail::boundaries(std::span(pack), pass::backward);
  EXPECT_EQ(std::vector<int>(forward.begin(), forward.end()), (std::vector<int>{10, 11, 12}));
  EXPECT_EQ(std::vector<int>(backward.begin(), backward.end()), (std::vector<int>{11, 12, 13}));
}

TEST(WeightTiming, OfNoneSplitsNothing) {
  const weight_timing none;
  EXPECT_FALSE(none.splits(0));
  EXPECT_EQ(none.count(), 0u);
}

TEST(WeightTiming, FindsThePacksThatRunTheirsApart) {
  const weight_timing some{{0, 1, 0, 1, 0}, {}};
  EXPECT_EQ(some.count(), 2u);
  EXPECT_TRUE(some.splits(1));
  EXPECT_FALSE(some.splits(2));
  EXPECT_EQ(some.next(0), 1u);
  EXPECT_EQ(some.next(1), 1u);
  EXPECT_EQ(some.next(2), 3u);
  EXPECT_EQ(some.next(4), 5u) << "past the last when none does";
}

}  // namespace
}  // namespace slimpack::pass_timing_test
