#include <slimpack/costs/quadratic.hpp>
#include <slimpack/costs/with_vocabulary.hpp>
#include <slimpack/testing/cost_model_laws.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace slimpack::with_vocabulary_test {
namespace {

TEST(WithVocabulary, PricesTheEndsBesideAnyModel) {
  const costs::with_vocabulary<costs::quadratic> cost{costs::quadratic{},
                                                      {.output = {.call = 2, .token = 0.5}, .partial = {.call = 3}}};
  EXPECT_EQ(cost.vocabulary_time({10}, instruction_kind::output, 1), seconds{7});
  EXPECT_EQ(cost.vocabulary_message({10}, message_kind::partial, 0), seconds{3});
  EXPECT_EQ(cost.vocabulary_time({10}, instruction_kind::embed, 0), seconds{});
  const slice s{{0}, {0}, {100}};
  EXPECT_EQ(cost.time(s, pass::forward, 0), costs::quadratic{}.time(s, pass::forward, 0));
  EXPECT_TRUE(testing::cost_model_laws(cost));
}

TEST(WithVocabulary, HasRatesForEachStageWhereTheyAreGiven) {
  const costs::with_vocabulary<costs::quadratic> cost{
      costs::quadratic{}, std::vector<costs::vocabulary_rates>{{.output = {.token = 1}}, {.output = {.token = 2}}}};
  EXPECT_EQ(cost.vocabulary_time({10}, instruction_kind::output, 0), seconds{10});
  EXPECT_EQ(cost.vocabulary_time({10}, instruction_kind::output, 1), seconds{20});
  EXPECT_EQ(costs::with_vocabulary<costs::quadratic>{}.vocabulary_time({10}, instruction_kind::output, 1), seconds{});
}

}  // namespace
}  // namespace slimpack::with_vocabulary_test
