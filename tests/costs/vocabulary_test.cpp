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
#include <utility>
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

/// The models that price a spread vocabulary, on a shape.
std::vector<costs::transformer> analytic(const costs::model_shape& model, const shape& on) {
  const costs::gpu device = costs::gpus::h100();
  return {costs::transformer::sheet(model, device, on, {}).value(),
          costs::transformer::make(model, device, on, {}).value()};
}

// Unequal shares of the words: what stages hold, sum and multiply for the vocabulary goes with their words, and all of
// it together is that of even shares. 2 h words / t parameters of both matrices, 4 B a logit.
TEST(SpreadVocabularyCost, GoesWithTheWordsOfAStage) {
  for (const bool tied : {false, true})
    for (const auto& [tensor, words] :
         {std::pair{1, std::vector<std::int64_t>{1, 100000, 28255}}, {2, {64128, 32064, 32064}}, {4, {8, 8, 128240}}}) {
      costs::model_shape model = tests::llama_3_1_8b();
      model.layers = 33, model.tied = tied;
      shape on = on_stages(3, vocabulary::spread, tensor);
      const std::vector<costs::transformer> even = analytic(model, on);
      on.words = words;
      const std::vector<costs::transformer> uneven = analytic(model, on);
      const double matrices = tied ? 1 : 2;
      for (std::size_t which = 0; which < even.size(); ++which) {
        double fixed = 0, product = 0;
        for (int r = 0; r < 3; ++r) {
          const memory_rates own = *uneven[which].memory(r), same = *even[which].memory(r);
          const auto count = static_cast<double>(words[static_cast<std::size_t>(r)]);
          const double more = matrices * 4096 / tensor * (count - 128256.0 / 3);
          EXPECT_NEAR(own.fixed - same.fixed, (2 + 4 + 12 / 2.0) * more, 1e-3) << "stage " << r;
          EXPECT_NEAR(own.logit_token, 4 * count / tensor + 2.0 * 4096 / tensor, 1e-6);
          EXPECT_EQ(own.live_token, same.live_token);
          EXPECT_EQ(own.turned_token, same.turned_token);
          fixed += own.fixed - same.fixed;
          const auto token = [&](const costs::transformer& t) {
            return (t.vocabulary_time({100000}, instruction_kind::output_weights, r) -
                    t.vocabulary_time({0}, instruction_kind::output_weights, r))
                .value;
          };
          product += token(uneven[which]) / token(even[which]) / 3;
          EXPECT_NEAR(token(uneven[which]) / token(even[which]), count / (128256 / 3.0), 0.02) << "whole tiles";
          EXPECT_EQ(uneven[which].vocabulary_message({1000}, message_kind::embedded, r % 2),
                    even[which].vocabulary_message({1000}, message_kind::embedded, r % 2));
        }
        EXPECT_NEAR(fixed, 0, 1);
        EXPECT_NEAR(product, 1, 0.02);
      }
      double parameters = 0;
      const auto buckets = detail::weight_buckets(model, on, std::vector<int>(3, 11));
      for (int r = 0; r < 3; ++r) {
        const double own = buckets[static_cast<std::size_t>(3 + r)].front().parameters;
        EXPECT_NEAR(own, matrices * 4096 / tensor * static_cast<double>(words[static_cast<std::size_t>(r)]), 1e-3);
        parameters += own;
      }
      EXPECT_NEAR(parameters, matrices * 4096 * 128256.0 / tensor, 1e-3);
    }
}

// A list of even shares gives what no list gives.
TEST(SpreadVocabularyCost, OfWordsThatAreEvenIsThatOfNone) {
  shape on = on_stages(4, vocabulary::spread, 2);
  const std::vector<costs::transformer> none = analytic(tests::llama_3_1_8b(), on);
  on.words = even_words(128256, 4);
  const std::vector<costs::transformer> listed = analytic(tests::llama_3_1_8b(), on);
  for (std::size_t which = 0; which < none.size(); ++which)
    for (int r = 0; r < 4; ++r) {
      EXPECT_EQ(listed[which].memory(r)->fixed, none[which].memory(r)->fixed);
      EXPECT_EQ(listed[which].memory(r)->logit_token, none[which].memory(r)->logit_token);
      for (const instruction_kind call : {instruction_kind::embed, instruction_kind::output,
                                          instruction_kind::output_weights, instruction_kind::embed_gradients})
        EXPECT_EQ(listed[which].vocabulary_time({777}, call, r), none[which].vocabulary_time({777}, call, r));
      EXPECT_EQ(listed[which].gradient_buckets(4 + r)[0].scatter, none[which].gradient_buckets(4 + r)[0].scatter);
    }
}

TEST(SpreadVocabularyCost, RefusesWordsThatAreNotTheModels) {
  const auto said = [](std::vector<std::int64_t> words, vocabulary where = vocabulary::spread) {
    shape on = on_stages(2, where);
    on.words = std::move(words);
    return costs::transformer::make(tests::llama_3_1_8b(), costs::gpus::h100(), on, {}).error().detail;
  };
  EXPECT_EQ(said({1, 128254}), "words of the stages add up to 128255, but llama-3.1-8b has 128256");
  EXPECT_EQ(said({0, 128256}), "the shape has a stage without a word of the vocabulary that is spread");
  EXPECT_EQ(said({128256}), "the shape has words that are not of each stage");
  EXPECT_EQ(said({1, 128255}, vocabulary::last),
            "the shape has words of each stage, but a vocabulary that is in one place");
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
  shape uneven = on;
  uneven.words = {64128, 32064, 16032, 16032};
  const costs::profiled shared =
      costs::profiled_of(tests::llama_3_1_8b(), uneven, kernels, costs::network(device)).value();
  const auto output = [&](int stage) {
    return shared.vocabulary_time({8192}, instruction_kind::output, stage).value /
           measured.value().vocabulary_time({8192}, instruction_kind::output, stage).value;
  };
  EXPECT_NEAR(output(0), 2, 0.1);
  EXPECT_NEAR(output(1), 1, 1e-12);
  EXPECT_NEAR(output(3), 0.5, 0.1);
  EXPECT_EQ(shared.memory(1)->fixed, measured.value().memory(1)->fixed);
  EXPECT_GT(shared.memory(0)->fixed, shared.memory(1)->fixed);
}

}  // namespace
}  // namespace slimpack::costs_vocabulary_test
