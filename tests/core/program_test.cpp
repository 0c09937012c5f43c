#include <slimpack/core/program.hpp>

#include <gtest/gtest.h>

namespace slimpack::program_test {
namespace {

TEST(Instruction, IsNamedByWhatItRunsAndItsPack) {
  EXPECT_EQ(name_of({instruction_kind::forward, {12}}, 1), "F12");
  EXPECT_EQ(name_of({instruction_kind::backward, {0}}, 1), "B0");
  EXPECT_EQ(name_of({instruction_kind::weights, {3}}, 1), "W3");
}

TEST(Instruction, NamesItsChunkWhereThereAreSeveral) {
  EXPECT_EQ(name_of({instruction_kind::forward, {12}, 0}, 2), "F12.0");
  EXPECT_EQ(name_of({instruction_kind::weights, {12}, 1}, 2), "W12.1");
}

TEST(Instruction, OfWeightsIsNotItsBackward) {
  EXPECT_NE((instruction{instruction_kind::weights, {1}}), (instruction{instruction_kind::backward, {1}, 0}));
}

}  // namespace
}  // namespace slimpack::program_test
