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

}  // namespace
}  // namespace slimpack::piece_test
