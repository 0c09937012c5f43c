#include <slimpack/costs/vocabulary_rates.hpp>

#include <gtest/gtest.h>

namespace slimpack::vocabulary_rates_test {
namespace {

TEST(VocabularyRates, AreOneForEachCallAndMessage) {
  const costs::vocabulary_rates all{{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}};
  double next = 1;
  for (const instruction_kind call : {instruction_kind::embed, instruction_kind::output,
                                      instruction_kind::output_weights, instruction_kind::embed_gradients})
    EXPECT_EQ(all.of(call).call, next++);
  for (const message_kind rows : {message_kind::embedded, message_kind::hidden, message_kind::partial,
                                  message_kind::statistics, message_kind::gradients})
    EXPECT_EQ(all.of(rows).call, next++);
}

TEST(VocabularyRates, AreStraightLines) {
  EXPECT_EQ((costs::vocabulary_rate{2, 0.5}({10})), seconds{7});
  EXPECT_EQ((costs::vocabulary_rate{2, 0.5}({0})), seconds{2});
}

}  // namespace
}  // namespace slimpack::vocabulary_rates_test
