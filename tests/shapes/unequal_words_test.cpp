#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/shapes/unequal_words.hpp>
#include <slimpack/testing/generator.hpp>

#include "../costs/models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

namespace slimpack::unequal_words_test {
namespace {

const auto cost_of = [](const costs::model_shape& model, const shapes::layout& on) {
  return costs::transformer::make(model, costs::gpus::h100(), on.shape,
                                  {.recompute = on.recompute, .layers = on.layers});
};

shapes::layout spread_over(int stages, double memory = 0) {
  shapes::layout on{.shape = {.stages = stages, .vocabulary = vocabulary::spread}};
  if (memory > 0) on.shape.memory = memory_limit{memory_unit::byte, memory};
  return on;
}

/// The busiest stage where stages have these words.
double busiest(const shapes::word_rates& of, const std::vector<std::int64_t>& words) {
  double most = 0;
  for (std::size_t r = 0; r < words.size(); ++r)
    most = std::max(most, of.stages[r].busy + of.word_busy * static_cast<double>(words[r]));
  return most;
}

// Rates are lines through two cost models; a third, with other shares, lies on them.
TEST(UnequalWords, HaveRatesThatAreLinesInTheWords) {
  costs::model_shape model = tests::llama_3_1_8b();
  const std::vector<std::vector<tokens>> batches{std::vector<tokens>(8, tokens{4096})};
  shapes::layout on = spread_over(4, 80e9);
  const shapes::word_rates rates = shapes::word_rates_of(model, on, batches, cost_of).value();
  on.shape.words = {100, 60000, 50000, 128256 - 110100};
  const costs::transformer cost = cost_of(model, on).value();
  for (int r = 0; r < 4; ++r) {
    const auto words = static_cast<double>(on.shape.words[static_cast<std::size_t>(r)]);
    const shapes::stage_words& own = rates.stages[static_cast<std::size_t>(r)];
    EXPECT_NEAR(own.fixed + rates.word_fixed * words, cost.memory(r)->fixed, 1e-6 * cost.memory(r)->fixed);
    EXPECT_NEAR(own.logits + rates.word_logits * words, cost.memory(r)->logit_token,
                1e-6 * cost.memory(r)->logit_token);
    EXPECT_EQ(own.live, cost.memory(r)->live_token);
  }
}

// Layers that do not divide evenly leave room for words on the stages that have fewer: the shares under which the
// busiest stage has least to do come first, and no others make it less busy.
TEST(UnequalWords, LevelStagesWhoseLayersAreUneven) {
  costs::model_shape model = tests::llama_3_1_8b();
  model.layers = 29;
  const std::vector<std::vector<tokens>> batches{std::vector<tokens>(8, tokens{4096})};
  const shapes::layout on = spread_over(4);
  const shapes::word_rates rates = shapes::word_rates_of(model, on, batches, cost_of).value();
  const std::vector<std::vector<std::int64_t>> found = shapes::unequal_words(rates, model, on.shape);
  ASSERT_EQ(found.size(), 1u) << "without a limit of memory there is nothing else to level";
  const double least = busiest(rates, found[0]);
  EXPECT_LT(least, busiest(rates, even_words(model.vocabulary, 4)));
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    testing::generator random(seed);
    std::vector<std::int64_t> other = found[0];
    const auto from = static_cast<std::size_t>(random.between(0, 3)),
               to = static_cast<std::size_t>(random.between(0, 3));
    const std::int64_t moved = random.between(0, other[from] - 1);
    other[from] -= moved, other[to] += moved;
    EXPECT_GE(busiest(rates, other), least * (1 - 1e-4)) << "seed " << seed;
  }
}

TEST(UnequalWords, AreNoneWhereStagesAreEvenAndMemoryIsAmple) {
  const std::vector<std::vector<tokens>> batches{std::vector<tokens>(8, tokens{4096})};
  EXPECT_TRUE(shapes::with_unequal_words(tests::llama_3_1_8b(), spread_over(4), batches, cost_of).empty());
  shapes::layout last = spread_over(4, 80e9);
  last.shape.vocabulary = vocabulary::last;
  EXPECT_TRUE(shapes::with_unequal_words(tests::llama_3_1_8b(), last, batches, cost_of).empty());
}

// Every model, depth and limit has lists of a count for each stage, at least 1, that add up, and none twice. Where
// memory is short, the first stage, which holds most packs, gives words to others.
TEST(UnequalWords, AddUpAndRelieveTheFirstStage) {
  int lists = 0, relieved = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    testing::generator random(seed);
    costs::model_shape model = tests::llama_3_1_8b();
    model.layers = static_cast<int>(random.between(8, 40));
    model.vocabulary = random.between(8, 300000);
    model.tied = random.once_in(2);
    shapes::layout on = spread_over(static_cast<int>(random.between(2, 8)));
    on.shape.tensor = static_cast<int>(std::int64_t{1} << random.between(0, 3));
    const std::vector<std::vector<tokens>> batches{std::vector<tokens>(8, tokens{random.between(100, 20000)})};
    const double least = cost_of(model, on).value().memory(0)->fixed;
    on.shape.memory = memory_limit{memory_unit::byte, least * (1 + static_cast<double>(random.between(1, 200)) / 100)};
    std::set<std::vector<std::int64_t>> seen;
    for (const shapes::layout& one : shapes::with_unequal_words(model, on, batches, cost_of)) {
      const std::vector<std::int64_t>& words = one.shape.words;
      ASSERT_EQ(fault_of(one.shape), nullptr) << "seed " << seed;
      EXPECT_EQ(std::accumulate(words.begin(), words.end(), std::int64_t{}), model.vocabulary) << "seed " << seed;
      EXPECT_TRUE(seen.insert(words).second) << "seed " << seed;
      EXPECT_TRUE(cost_of(model, one)) << "seed " << seed;
      ++lists;
      relieved += model.layers % on.shape.stages == 0 && words.front() < model.vocabulary / on.shape.stages;
    }
    EXPECT_LE(seen.size(), 5u) << "seed " << seed;
  }
  EXPECT_GT(lists, 60);
  EXPECT_GT(relieved, 5);
}

}  // namespace
}  // namespace slimpack::unequal_words_test
