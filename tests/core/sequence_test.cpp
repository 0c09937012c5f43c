#include <slimpack/core/sequence.hpp>

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

}  // namespace
}  // namespace slimpack::sequence_test
