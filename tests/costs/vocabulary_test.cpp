#include <slimpack/costs/detail/step_ends.hpp>
#include <slimpack/costs/kernels/kernel_times.hpp>
#include <slimpack/costs/kernels/wave_model.hpp>
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/profiled_of.hpp>
#include <slimpack/costs/transformer.hpp>

#include "models.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::costs_vocabulary_test {
namespace {

shape on_stages(int stages, vocabulary where, int tensor = 1) {
  return {.stages = stages, .replicas = 2, .tensor = tensor, .vocabulary = where};
}

costs::transformer llama(const shape& on) {
  return costs::transformer::sheet(tests::llama_3_1_8b(), costs::gpus::h100(), on, {}).value();
}

double token_of(const costs::transformer& t, instruction_kind call) {
  constexpr std::int64_t many = 100000;
  return (t.vocabulary_time({many}, call, 0) - t.vocabulary_time({0}, call, 0)).value / many;
}

// The output layer is three products of one size: logits and the gradient of their input are V, the weights' gradient
// is U.
TEST(SpreadVocabularyCost, IsTheOutputLayerInPartsOfOneSize) {
  const slice thousand{{0}, {0}, {1000}};
  for (const int stages : {2, 4, 8}) {
    const costs::transformer last = llama(on_stages(stages, vocabulary::last)),
                             spread = llama(on_stages(stages, vocabulary::spread));
    const double product =
        (last.least(thousand, pass::forward, stages - 1) - spread.least(thousand, pass::forward, stages - 1)).value /
        1000;
    EXPECT_GT(product, 0);
    EXPECT_NEAR(token_of(spread, instruction_kind::output) * stages, 2 * product, 1e-12 * product);
    EXPECT_NEAR(token_of(spread, instruction_kind::output_weights) * stages, product, 1e-12 * product);
    for (int part = 0; part + 1 < stages; ++part)
      EXPECT_EQ(last.least(thousand, pass::backward, part), spread.least(thousand, pass::backward, part));
  }
}

TEST(SpreadVocabularyCost, DividesStatesAndLogits) {
  for (const int stages : {2, 4}) {
    const costs::transformer last = llama(on_stages(stages, vocabulary::last, 2)),
                             spread = llama(on_stages(stages, vocabulary::spread, 2));
    double one = 0, other = 0;
    for (int r = 0; r < stages; ++r) {
      one += last.memory(r)->fixed, other += spread.memory(r)->fixed;
      EXPECT_DOUBLE_EQ(spread.memory(r)->logit_token, 4.0 * 128256 / (2 * stages) + 2.0 * 4096 / 2) << "stage " << r;
      EXPECT_EQ(spread.memory(r)->turned_token, r + 1 == stages ? 2.0 * 4096 / 2 : 0);
      EXPECT_EQ(spread.memory(r)->forward_token, 0);
    }
    EXPECT_NEAR(one, other, 1e-12 * one) << "as many weights in all";
    EXPECT_EQ(spread.memory(0)->fixed, spread.memory(stages - 1)->fixed);
  }
}

TEST(SpreadVocabularyCost, ReducesItsShareAsAPartOfItsOwn) {
  const costs::model_shape model = tests::llama_3_1_8b();
  const std::vector<int> layers(4, 8);
  const auto all = [&](vocabulary where) {
    double parameters = 0;
    for (const auto& part : detail::weight_buckets(model, on_stages(4, where), layers))
      for (const detail::weight_bucket& b : part) parameters += b.all();
    return parameters;
  };
  EXPECT_NEAR(all(vocabulary::last), all(vocabulary::spread), 1);
  const costs::transformer spread = llama(on_stages(4, vocabulary::spread));
  EXPECT_EQ(spread.gradient_buckets(4).size(), 1u);
  EXPECT_EQ(spread.gradient_buckets(7).size(), 1u);
}

// Rows go to the last stage and come from it over one adapter: with 7 others on 8 nodes, each message takes as long as
// 7.
TEST(SpreadVocabularyCost, SharesTheLastStagesAdapter) {
  const costs::transformer t =
      costs::transformer::sheet(tests::llama_3_1_8b(), costs::gpus::h100(),
                                {.stages = 8, .replicas = 1, .tensor = 8, .vocabulary = vocabulary::spread}, {})
          .value();
  const costs::link wire = costs::gpus::h100().between;
  const double row = 2.0 * 4096 / 8;
  EXPECT_NEAR(t.vocabulary_message({1000}, message_kind::hidden, 0).value, wire.over(bytes{7 * 1000 * row}).value,
              1e-15);
  EXPECT_NEAR(t.vocabulary_message({1000}, message_kind::partial, 3).value,
              wire.over(bytes{7 * 1000 * (2 * row + 12)}).value, 1e-15);
  EXPECT_NEAR(t.vocabulary_message({1000}, message_kind::statistics, 6).value, wire.over(bytes{7 * 1000 * 8.0}).value,
              1e-15);
  EXPECT_NEAR(t.vocabulary_message({1000}, message_kind::embedded, 2).value, wire.over(bytes{1000 * row}).value, 1e-15);
}

TEST(SpreadVocabularyCost, OfKernelsIsNearThatOfTheAnalyticModel) {
  const shape on = on_stages(4, vocabulary::spread);
  const costs::gpu device = costs::gpus::h100();
  const costs::kernel_times kernels{costs::wave_model(device)};
  const result<costs::profiled> measured =
      costs::profiled_of(tests::llama_3_1_8b(), on, kernels, costs::network(device));
  ASSERT_TRUE(measured) << measured.error().detail;
  const costs::transformer analytic = llama(on);
  for (const instruction_kind call : {instruction_kind::output, instruction_kind::output_weights}) {
    const double a = analytic.vocabulary_time({8192}, call, 0).value,
                 b = measured.value().vocabulary_time({8192}, call, 0).value;
    EXPECT_GT(b, a / 2) << static_cast<int>(call);
    EXPECT_LT(b, a * 2) << static_cast<int>(call);
  }
}

}  // namespace
}  // namespace slimpack::costs_vocabulary_test
