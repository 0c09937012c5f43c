#include <slimpack/core/shape.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace slimpack::shape_test {
namespace {

TEST(Shape, HasAPartForEachChunkOfEachStage) {
  shape on{.stages = 3, .chunks = 4};
  EXPECT_EQ(on.parts(), 12);
  EXPECT_EQ(on.reduced_parts(), 12);
  on.vocabulary = vocabulary::spread;
  EXPECT_EQ(on.parts(), 12);
  EXPECT_EQ(on.reduced_parts(), 15) << "and a share of the vocabulary on each stage";
}

// Two parts for each context-parallel rank, and no less than without such ranks.
TEST(Shape, HasAQuantumThatContextRanksDivide) {
  EXPECT_EQ(default_quantum(1), shape{}.quantum);
  for (const int context : {2, 4, 8, 16, 32, 64}) EXPECT_EQ(default_quantum(context), tokens{128}) << context;
  EXPECT_EQ(default_quantum(3), tokens{132});  // 22 x 6
  EXPECT_EQ(default_quantum(5), tokens{130});  // 13 x 10
  EXPECT_EQ(default_quantum(48), tokens{192});
  EXPECT_EQ(default_quantum(128), tokens{256});
  EXPECT_EQ(default_quantum(65536), tokens{131072});
}

TEST(Shape, RunsItsForwardAloneWhereItsVocabularyIsInOnePlace) {
  EXPECT_EQ(forward_fault_of({.stages = 2}), nullptr);
  EXPECT_STREQ(forward_fault_of({.stages = 2, .vocabulary = vocabulary::spread}),
               "the vocabulary is spread over the stages, whose calls run both passes: choose vocabulary::last");
}

TEST(Shape, CountsTheRanksOfAStage) {
  EXPECT_EQ((shape{.stages = 7, .replicas = 2, .tensor = 3, .context = 5, .chunks = 9}.stage_ranks()), 30);
  EXPECT_EQ((shape{.replicas = 1 << 20, .tensor = 1 << 20}.stage_ranks()), std::int64_t{1} << 40)
      << "more than an int holds";
}

// Tensor-parallel ranks have different weights; those of other replicas and of a context-parallel group have the same.
TEST(Shape, HasCopiesWhereReplicasOrContextRanksAreSeveral) {
  EXPECT_FALSE(shape{}.has_copies());
  EXPECT_FALSE((shape{.stages = 4, .tensor = 8, .chunks = 2}.has_copies()));
  EXPECT_TRUE((shape{.replicas = 2}.has_copies()));
  EXPECT_TRUE((shape{.context = 2}.has_copies()));
}

// Of 8 tensor-parallel ranks: where all divide the experts, each has others; where 2 or 4 do, 4 or 2 have the same.
TEST(Shape, HasCopiesOfExpertsThatNotAllRanksDivide) {
  EXPECT_FALSE((shape{.tensor = 8, .expert = 8}.has_copies()));
  EXPECT_TRUE((shape{.tensor = 8, .expert = 4}.has_copies()));
  EXPECT_TRUE((shape{.tensor = 8, .expert = 2}.has_copies()));
  EXPECT_TRUE((shape{.replicas = 4, .expert = 4}.has_copies())) << "all else has copies";
}

}  // namespace
}  // namespace slimpack::shape_test
