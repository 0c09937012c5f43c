#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace slimpack::sequence_test {
namespace {

TEST(Sequence, IsItsPlaceInTheBatchAndItsLength) {
  EXPECT_EQ((sequence{{1}, {8}}), (sequence{{1}, {8}}));
  EXPECT_NE((sequence{{1}, {8}}), (sequence{{2}, {8}}));
  EXPECT_NE((sequence{{1}, {8}}), (sequence{{1}, {9}}));
}

// Index files have lengths of 32 bits and a sign.
TEST(Sequence, IsAtMostAsLongAsIndexFilesCanSay) {
  EXPECT_EQ(longest_supported, tokens{std::numeric_limits<std::int32_t>::max()});
}

TEST(Sequence, IsPaddedToTheNextMultiple) {
  EXPECT_EQ(padded({1}, {8}), tokens{8});
  EXPECT_EQ(padded({8}, {8}), tokens{8});
  EXPECT_EQ(padded({9}, {8}), tokens{16});
  EXPECT_EQ(padded({77}, {1}), tokens{77});
  EXPECT_EQ(padded(longest_supported, {16}), tokens{std::int64_t{1} << 31})
      << "more than is supported, which planners refuse";
}

}  // namespace
}  // namespace slimpack::sequence_test
