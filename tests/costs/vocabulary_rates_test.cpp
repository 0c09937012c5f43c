#include <slimpack/costs/vocabulary_rates.hpp>

#include <gtest/gtest.h>

namespace slimpack::vocabulary_rates_test {
namespace {

TEST(VocabularyRates, AreOneForEachCallAndMessage) {
  const costs::vocabulary_rates all{{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}};
  double next = 1;
  for (const vocabulary_call call : {vocabulary_call::embed, vocabulary_call::output, vocabulary_call::output_weights,
                                     vocabulary_call::embed_gradients})
    EXPECT_EQ(all.of(call).call, next++);
  for (const vocabulary_rows rows : {vocabulary_rows::embedded, vocabulary_rows::hidden, vocabulary_rows::partial,
                                     vocabulary_rows::statistics, vocabulary_rows::gradients})
    EXPECT_EQ(all.of(rows).call, next++);
}

TEST(VocabularyRates, AreStraightLines) {
  EXPECT_EQ((costs::vocabulary_rate{2, 0.5}({10})), seconds{7});
  EXPECT_EQ((costs::vocabulary_rate{2, 0.5}({0})), seconds{2});
}

}  // namespace
}  // namespace slimpack::vocabulary_rates_test
