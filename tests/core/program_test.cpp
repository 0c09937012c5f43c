#include <slimpack/core/program.hpp>

#include <gtest/gtest.h>

namespace slimpack::program_test {
namespace {

TEST(Instruction, IsNamedByWhatItRunsAndItsPack) {
  EXPECT_EQ(name_of({pass::forward, {12}}, 1), "F12");
  EXPECT_EQ(name_of({pass::backward, {0}}, 1), "B0");
  EXPECT_EQ(name_of({pass::backward, {3}, 0, true}, 1), "W3");
}

TEST(Instruction, NamesItsChunkWhereThereAreSeveral) {
  EXPECT_EQ(name_of({pass::forward, {12}, 0}, 2), "F12.0");
  EXPECT_EQ(name_of({pass::backward, {12}, 1, true}, 2), "W12.1");
}

TEST(Instruction, OfWeightsIsNotItsBackward) {
  EXPECT_NE((instruction{pass::backward, {1}, 0, true}), (instruction{pass::backward, {1}, 0}));
}

}  // namespace
}  // namespace slimpack::program_test
