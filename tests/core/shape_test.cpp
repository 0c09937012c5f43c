#include <slimpack/core/shape.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

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

TEST(Shape, GivesStagesEvenSharesOfTheWordsWhereItNamesNone) {
  const shape even{.stages = 3, .vocabulary = vocabulary::spread};
  for (int stage = 0; stage < 3; ++stage) EXPECT_EQ(even.share_of_words(stage, 10), 10.0 / 3);
  const shape uneven{.stages = 3, .vocabulary = vocabulary::spread, .words = {1, 5, 2}};
  EXPECT_EQ(uneven.share_of_words(0, 16), 2);
  EXPECT_EQ(uneven.share_of_words(1, 16), 10);
  EXPECT_EQ(uneven.share_of_words(2, 16), 4);
}

TEST(Shape, SpreadsWordsEvenlySoThatTheyAddUpAndNoStageHasTwoMore) {
  for (std::int64_t words = 1; words <= 40; ++words)
    for (int stages = 1; stages <= words; ++stages) {
      const std::vector<std::int64_t> all = even_words(words, stages);
      ASSERT_EQ(all.size(), static_cast<std::size_t>(stages));
      EXPECT_EQ(std::accumulate(all.begin(), all.end(), std::int64_t{}), words);
      for (const std::int64_t own : all) EXPECT_TRUE(own == words / stages || own == words / stages + 1);
    }
}

TEST(Shape, SaysWhichWordsNoStagesCanHave) {
  const auto said = [](const shape& on) { return std::string_view(fault_of(on) ? fault_of(on) : ""); };
  EXPECT_EQ(said({.stages = 2, .vocabulary = vocabulary::spread, .words = {1, 1}}), "");
  EXPECT_EQ(said({.stages = 2, .vocabulary = vocabulary::spread, .words = {1, 0}}),
            "a stage without a word of the vocabulary that is spread");
  EXPECT_EQ(said({.stages = 2, .vocabulary = vocabulary::spread, .words = {1, 1, 1}}),
            "words that are not of each stage");
  EXPECT_EQ(said({.stages = 2, .words = {1, 1}}), "words of each stage, but a vocabulary that is in one place");
  const shape whole = with_whole_vocabulary({.stages = 2, .vocabulary = vocabulary::spread, .words = {1, 2}});
  EXPECT_EQ(whole, (shape{.stages = 2}));
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
