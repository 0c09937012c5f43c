#include <slimpack/executors/piece.hpp>

#include <gtest/gtest.h>

namespace slimpack::piece_test {
namespace {

TEST(Piece, KnowsTheEndsOfItsSequence) {
  const piece first{.slice = {{0}, {0}, {128}}, .sequence_length = {300}};
  const piece last{.slice = {{0}, {128}, {172}}, .sequence_length = {300}};
  const piece all{.slice = {{0}, {0}, {300}}, .sequence_length = {300}};
  EXPECT_TRUE(first.is_first() && !first.is_last());
  EXPECT_TRUE(!last.is_first() && last.is_last());
  EXPECT_TRUE(all.is_first() && all.is_last());
}

TEST(Piece, KnowsTheEndsOfASequenceThatGoesOnWhereAnotherEnds) {
  const slice parent{{0}, {0}, {64}};
  piece first{.slice = {{1}, {64}, {32}}, .sequence_length = {100}, .sequence_begin = {64}, .prefix = {&parent, 1}};
  EXPECT_TRUE(first.is_first() && !first.is_last());
  EXPECT_EQ(first.sequence_end(), tokens{164});
  EXPECT_EQ(first.path(), (slice{{1}, {0}, {96}}));
  const piece last{.slice = {{1}, {96}, {68}}, .sequence_length = {100}, .sequence_begin = {64}};
  EXPECT_TRUE(!last.is_first() && last.is_last());
}

TEST(Piece, MayBeComparedWhenWhatItPointsToIsGone) {
  const auto made = [] {
    const slice parent{{0}, {0}, {64}};
    return piece{.slice = {{1}, {64}, {32}}, .sequence_length = {100}, .sequence_begin = {64}, .prefix = {&parent, 1}};
  };
  const piece one = made();
  EXPECT_EQ(one, made());
  piece other = made();
  other.prefix = {};
  EXPECT_NE(one, other);
}

}  // namespace
}  // namespace slimpack::piece_test
