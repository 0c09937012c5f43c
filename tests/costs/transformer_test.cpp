#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/testing/cost_model_laws.hpp>

#include "../laws/cases.hpp"
#include "models.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::transformer_test {
namespace {

using costs::recompute;
using costs::transformer;

/// 288 flop/s of matrix products, 160 of attention, 72 bytes/s of memory: a layer of tests::tiny() takes a second a
/// token, 0.1 s a pair, and 4 s to read.
costs::gpu slow_gpu() {
  return {.name = "slow",
          .memory = {1e6},
          .peak_bf16_flops = 1000,
          .memory_bandwidth = 72,
          .multiprocessors = 1,
          .gpus_per_node = 2,
          .gemm_efficiency = 0.288,
          .attention_efficiency = 0.16,
          .backward_attention_ratio = 3,
          .inside = {{0.125}, 16},
          .between = {{0.25}, 4}};
}

transformer tiny(const shape& on = {.stages = 2}, transformer::options with = {.launch = {0.5}}) {
  return transformer::make(tests::tiny(), slow_gpu(), on, std::move(with)).value();
}

slice of_length(std::int64_t n) {
  return {{0}, {0}, {n}};
}

double time_of(const transformer& t, const slice& s, pass p, int part) {
  return t.time(s, p, part).value;
}

std::string refusal(const shape& on, transformer::options with = {}) {
  const result<transformer> made = transformer::make(tests::llama_3_1_8b(), costs::gpus::h100(), on, std::move(with));
  if (made) return "no refusal";
  EXPECT_EQ(made.error().code, errc::invalid_input);
  return made.error().detail;
}

// 4 tokens, 10 pairs: 4 x 1 + 10 x 0.1 forward; backward 2 x 4 and 3 x 1. The second half of 8: 26 pairs.
TEST(Transformer, TimesASliceByHand) {
  const transformer t = tiny();
  EXPECT_DOUBLE_EQ(time_of(t, of_length(4), pass::forward, 0), 4 + 1);
  EXPECT_DOUBLE_EQ(time_of(t, of_length(4), pass::backward, 0), 8 + 3);
  EXPECT_DOUBLE_EQ(time_of(t, {{0}, {4}, {4}}, pass::forward, 0), 4 + 2.6);
  EXPECT_DOUBLE_EQ(t.weight_time(of_length(4), 0).value, 4);
}

// The head's 2 x 4 x 10 = 80 flops a token are on the last part only, backward twice; an embedding is looked up.
TEST(Transformer, ComputesLogitsOnTheLastPart) {
  const transformer t = tiny();
  EXPECT_DOUBLE_EQ(time_of(t, of_length(4), pass::forward, 1), 4 * (1 + 80.0 / 288) + 1);
  EXPECT_DOUBLE_EQ(time_of(t, of_length(4), pass::backward, 1), 8 * (1 + 80.0 / 288) + 3);
  EXPECT_DOUBLE_EQ(t.weight_time(of_length(4), 1).value, 4 * (1 + 80.0 / 288));
}

// Launches 0.5 s forward and 1 s backward for the layer; reading 144 weights of 2 bytes takes 4 s, and those of the
// head 40 more.
TEST(Transformer, TakesAtLeastTheTimeToReadWeightsForAPack) {
  const transformer t = tiny();
  const std::vector<slice> large{of_length(4), of_length(2)};
  const std::vector<slice> small{of_length(1), of_length(1)};
  EXPECT_DOUBLE_EQ(t.time(large, pass::forward, 0).value, 0.5 + (4 + 1) + (2 + 0.3));
  EXPECT_DOUBLE_EQ(t.time(small, pass::forward, 0).value, 0.5 + 4);
  EXPECT_DOUBLE_EQ(t.time(small, pass::backward, 0).value, 1 + 2 * (2 + 0.3));
  EXPECT_DOUBLE_EQ(t.time(small, pass::forward, 1).value, 0.5 + (144 + 40) * 2 / 72.0);
  EXPECT_DOUBLE_EQ(t.overhead(pass::forward, 0).value, 0.5);
}

// Gate and up again: 2 x 2 x 4 x 8 = 128 flops a token. Attention again: its forward of 1 s. All again: the layer, attention and launches included, but not
// the head, whose input is kept.
TEST(Transformer, ComputesAgainByHand) {
  const transformer selective = tiny({.stages = 2}, {.recompute = recompute::selective, .launch = {0.5}});
  EXPECT_DOUBLE_EQ(time_of(selective, of_length(4), pass::backward, 0), 8 + 3 + 4 * 128.0 / 288);
  EXPECT_DOUBLE_EQ(selective.overhead(pass::backward, 0).value, 1);
  const transformer scores = tiny({.stages = 2}, {.recompute = recompute::attention, .launch = {0.5}});
  EXPECT_DOUBLE_EQ(time_of(scores, of_length(4), pass::backward, 0), 8 + 3 + 1);
  const transformer full = tiny({.stages = 2}, {.recompute = recompute::full, .launch = {0.5}});
  EXPECT_DOUBLE_EQ(time_of(full, of_length(4), pass::backward, 1), 8 * (1 + 80.0 / 288) + 3 + 4 + 1);
  EXPECT_DOUBLE_EQ(full.overhead(pass::backward, 0).value, 1.5);
  EXPECT_DOUBLE_EQ(time_of(full, of_length(4), pass::forward, 0), 4 + 1);
}

TEST(Transformer, CountsNoRecomputeAsUseful) {
  const transformer none = tiny();
  for (const recompute r : {recompute::selective, recompute::full}) {
    const transformer t = tiny({.stages = 2}, {.recompute = r});
    for (const pass p : {pass::forward, pass::backward}) {
      EXPECT_EQ(t.useful(of_length(4), p, 1), none.time(of_length(4), p, 1));
      EXPECT_EQ(t.useful(of_length(4), p, 1), none.useful(of_length(4), p, 1));
    }
    EXPECT_LT(t.useful(of_length(4), pass::backward, 1), t.time(of_length(4), pass::backward, 1));
  }
}

TEST(Transformer, TradesTimeForMemory) {
  const auto variant = [](recompute r) {
    return transformer::make(tests::llama_3_1_8b(), costs::gpus::h100(), {.stages = 4, .tensor = 8}, {.recompute = r})
        .value();
  };
  const transformer none = variant(recompute::none);
  const transformer selective = variant(recompute::selective);
  const transformer full = variant(recompute::full);
  EXPECT_LT(none.time(of_length(4096), pass::backward, 1), selective.time(of_length(4096), pass::backward, 1));
  EXPECT_LT(selective.time(of_length(4096), pass::backward, 1), full.time(of_length(4096), pass::backward, 1));
  EXPECT_GT(none.memory(1)->live_token, selective.memory(1)->live_token);
  EXPECT_GT(selective.memory(1)->live_token, full.memory(1)->live_token);
}

// 5 layers on 3 parts: one more on the inner part, the other on the first; the last has the logits.
TEST(Transformer, SpreadsLayersEvenlyAndInnerPartsFirst) {
  const auto spread = [](int layers, const shape& on) {
    costs::model_shape m = tests::tiny();
    m.layers = layers;
    const transformer t = transformer::make(m, slow_gpu(), on).value();
    return std::vector<int>(t.layers().begin(), t.layers().end());
  };
  EXPECT_EQ(spread(6, {.stages = 3}), (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(spread(7, {.stages = 3}), (std::vector<int>{2, 3, 2}));
  EXPECT_EQ(spread(8, {.stages = 3}), (std::vector<int>{3, 3, 2}));
  EXPECT_EQ(spread(5, {.stages = 2}), (std::vector<int>{3, 2}));
  EXPECT_EQ(spread(6, {.stages = 2, .chunks = 2}), (std::vector<int>{1, 2, 2, 1}));
}

// Two layers on the first part, one on the second.
TEST(Transformer, TakesUnevenLayers) {
  costs::model_shape m = tests::tiny();
  m.layers = 3;
  const transformer t = transformer::make(m, slow_gpu(), {.stages = 2}, {.layers = {2, 1}}).value();
  EXPECT_DOUBLE_EQ(time_of(t, of_length(4), pass::forward, 0), 2 * (4 + 1));
  EXPECT_EQ(t.memory(0)->live_token, 2 * 104);
  EXPECT_EQ(t.memory(1)->live_token, 104 + 8);
}

// The first 1 of 2 layers is dense (f 8), the other has 4 experts of width 4, one active, and a router 4 x 4.
TEST(Transformer, KnowsWhichLayersHaveExperts) {
  costs::model_shape m = tests::tiny();
  m.experts = 4, m.experts_per_token = 1, m.expert_intermediate = 4, m.dense_layers = 1;
  const transformer t = transformer::make(m, slow_gpu(), {.stages = 2}).value();
  EXPECT_DOUBLE_EQ(time_of(t, of_length(4), pass::forward, 0), 4 + 1);
  EXPECT_DOUBLE_EQ(time_of(t, of_length(4), pass::forward, 1), 4 * (2 * (48 + 16 + 48) + 80) / 288.0 + 1);
  EXPECT_EQ(t.memory(1)->fixed, (48 + 16 + 4 * 48 + 40) * 18);
}

// Weights of a layer 144, an embedding 40; 18 bytes each. One copy of a tied embedding on a single stage, one on each
// end of a pipeline.
TEST(Transformer, HoldsEmbeddingFirstAndHeadLast) {
  costs::model_shape m = tests::tiny();
  m.layers = 3;
  const auto fixed = [&](int stages, int stage) {
    return transformer::make(m, slow_gpu(), {.stages = stages}).value().memory(stage)->fixed / 18;
  };
  EXPECT_EQ(fixed(1, 0), 3 * 144 + 80);
  EXPECT_EQ(fixed(3, 0), 144 + 40);
  EXPECT_EQ(fixed(3, 1), 144);
  EXPECT_EQ(fixed(3, 2), 144 + 40);
  m.tied = true;
  EXPECT_EQ(fixed(1, 0), 3 * 144 + 40);
  EXPECT_EQ(fixed(3, 0), 144 + 40);
  EXPECT_EQ(fixed(3, 2), 144 + 40);
  EXPECT_EQ(transformer::make(m, slow_gpu(), {.stages = 3}).value().memory(0)->forward_token, 0);
  EXPECT_EQ(transformer::make(m, slow_gpu(), {.stages = 3}).value().memory(2)->forward_token, 40);
}

// Two ranks: matrices 8 + 8 + 16 + 48 = 80 weights each (keys and values on both), 160 flops; four all-reduces of 2 x 4
// bytes, half of them moved, at 16 bytes/s, 1 s a token, and 4 x 0.125 s a pack; backward half as many again.
TEST(Transformer, ReducesBetweenTensorRanks) {
  const transformer t = tiny({.stages = 2, .tensor = 2});
  EXPECT_DOUBLE_EQ(time_of(t, of_length(4), pass::forward, 0), 4 * (160.0 / 288 + 1) + 0.5);
  EXPECT_DOUBLE_EQ(time_of(t, of_length(4), pass::backward, 0), 4 * (2 * 160.0 / 288 + 1.5) + 1.5);
  EXPECT_DOUBLE_EQ(t.overhead(pass::forward, 0).value, 0.5 + 0.5);
  EXPECT_DOUBLE_EQ(t.overhead(pass::backward, 0).value, 1 + 0.75);
}

TEST(Transformer, SharesWorkOverContextRanks) {
  const transformer t = tiny({.stages = 2, .context = 2});
  EXPECT_DOUBLE_EQ(t.useful(of_length(4), pass::forward, 0).value, (4 + 1) / 2.0);
  EXPECT_EQ(t.least(of_length(4), pass::forward, 0), t.useful(of_length(4), pass::forward, 0));
}

// One hop inside a node, of half the tokens, at 16 bytes/s. Keys and values of a token, 2 x 4 bytes, take 0.25 s, backward
// twice; queries and outputs, 2 x 8 bytes, 0.5 s, backward 0.75: fewer bytes from three tokens of prefix on. Half of the
// attention runs meanwhile: 0.025 s a pair, backward three times.
TEST(Transformer, WaitsForKeysThatAttentionDoesNotCover) {
  const transformer t = tiny({.stages = 2, .context = 2});
  EXPECT_DOUBLE_EQ(time_of(t, of_length(4), pass::forward, 0), 2.5 + (4 * 0.25 - 10 * 0.025));
  EXPECT_DOUBLE_EQ(time_of(t, {{0}, {2}, {4}}, pass::forward, 0), 2 + 0.9 + (6 * 0.25 - 18 * 0.025));
  EXPECT_DOUBLE_EQ(time_of(t, {{0}, {5}, {4}}, pass::forward, 0), 2 + 1.5 + (4 * 0.5 - 30 * 0.025));
  EXPECT_DOUBLE_EQ(time_of(t, {{0}, {3}, {4}}, pass::backward, 0), 4 + 3.3 + (4 * 0.75 - 22 * 0.075));
  EXPECT_DOUBLE_EQ(time_of(t, of_length(4), pass::backward, 0), 5.5 + (4 * 0.5 - 10 * 0.075));
  EXPECT_DOUBLE_EQ(time_of(t, of_length(40), pass::forward, 0), 20 + 820 * 0.05);
  EXPECT_DOUBLE_EQ(t.overhead(pass::forward, 0).value, 0.5 + 0.125);
  EXPECT_DOUBLE_EQ(t.overhead(pass::backward, 0).value, 1 + 0.125);
  const std::vector<slice> both{of_length(4), {{0}, {5}, {4}}};
  EXPECT_DOUBLE_EQ(t.time(both, pass::forward, 0).value, 0.625 + 2.5 + 0.75 + 3.5 + 1.25);
}

TEST(Transformer, ExchangesKeysAgainWhereAttentionIsComputedAgain) {
  const transformer t = tiny({.stages = 2, .context = 2}, {.recompute = recompute::attention, .launch = {0.5}});
  EXPECT_DOUBLE_EQ(time_of(t, of_length(4), pass::backward, 0), 5.5 + 1.25 + 0.5 + 0.75);
}

TEST(Transformer, NeverGainsByCuttingWhatIsExchanged) {
  const transformer t = tiny({.stages = 2, .context = 2});
  for (std::int64_t cut = 1; cut < 60; ++cut)
    for (const pass p : {pass::forward, pass::backward}) {
      const seconds parts = t.time(of_length(cut), p, 0) + t.time({{0}, {cut}, {60 - cut}}, p, 0);
      EXPECT_GE(parts.value, time_of(t, of_length(60), p, 0) * (1 - 1e-12)) << cut;
      EXPECT_GE(parts.value, t.least(of_length(60), p, 0).value * (1 - 1e-12)) << cut;
    }
}

// A token is 2 x 4 bytes. Stages 0 and 1 share a node of two GPUs (16 bytes/s), 1 and 2 do not (4 bytes/s).
TEST(Transformer, SendsHiddenStates) {
  costs::model_shape m = tests::tiny();
  m.layers = 3;
  const transformer t = transformer::make(m, slow_gpu(), {.stages = 3}).value();
  EXPECT_EQ(t.message({4}, pass::forward, 0), seconds{0.125 + 32 / 16.0});
  EXPECT_EQ(t.message({4}, pass::forward, 1), seconds{0.25 + 32 / 4.0});
  EXPECT_EQ(t.message({4}, pass::backward, 1), t.message({4}, pass::forward, 0));
  EXPECT_EQ(t.message({4}, pass::backward, 2), t.message({4}, pass::forward, 1));
  EXPECT_EQ(tiny({.stages = 2, .tensor = 2}).message({4}, pass::forward, 0), seconds{0.25 + 16 / 4.0});
}

// Part 2 is chunk 1 of stage 0: its gradients go back to part 1 on stage 1. No message leaves part 0 backward, but a
// question about it has an answer.
TEST(Transformer, SendsBetweenChunks) {
  costs::model_shape m = tests::tiny();
  m.layers = 4;
  const transformer t = transformer::make(m, slow_gpu(), {.stages = 2, .chunks = 2}).value();
  for (int part = 0; part < 4; ++part)
    for (const pass p : {pass::forward, pass::backward})
      EXPECT_EQ(t.message({4}, p, part), seconds{0.125 + 32 / 16.0}) << part;
}

TEST(Transformer, TakesAGivenHop) {
  const transformer t = tiny({.stages = 2}, {.hop = seconds{0.75}});
  EXPECT_EQ(t.message({1}, pass::forward, 0), seconds{0.75});
  EXPECT_EQ(t.message({1000}, pass::backward, 1), seconds{0.75});
}

// The fuller GPU has 144 + 40 weights. Over two replicas on two nodes, half of 4 bytes each scattered and of 2
// gathered, at 4 bytes/s: 2 x 0.25 + 184 x 6 / 2 / 4.
TEST(Transformer, ReducesGradientsOverReplicas) {
  EXPECT_DOUBLE_EQ(tiny({.stages = 2, .replicas = 2}).reduce_time().value, 0.5 + 184 * 6 / 2 / 4.0);
  EXPECT_EQ(tiny().reduce_time(), seconds{0});
}

TEST(Transformer, RefusesMorePartsThanLayers) {
  EXPECT_EQ(refusal({.stages = 33}), "33 stages x 1 chunks exceed the 32 layers of llama-3.1-8b");
  EXPECT_EQ(refusal({.stages = 11, .chunks = 3}), "11 stages x 3 chunks exceed the 32 layers of llama-3.1-8b");
}

TEST(Transformer, RefusesTensorRanksThatDoNotDivideTheHeads) {
  EXPECT_EQ(refusal({.tensor = 3}), "tensor parallelism of 3 does not divide the 32 query heads of llama-3.1-8b");
}

TEST(Transformer, RefusesDegreesBelowOne) {
  for (const shape& on :
       {shape{.stages = 0}, shape{.replicas = 0}, shape{.tensor = 0}, shape{.context = 0}, shape{.chunks = 0}})
    EXPECT_EQ(refusal(on), "every degree of the shape must be at least 1");
}

TEST(Transformer, RefusesLayersThatDoNotAddUp) {
  const std::string message = "layers per part must be 2 counts of at least 1 that add up to 32";
  EXPECT_EQ(refusal({.stages = 2}, {.layers = {16, 15}}), message);
  EXPECT_EQ(refusal({.stages = 2}, {.layers = {32}}), message);
  EXPECT_EQ(refusal({.stages = 2}, {.layers = {33, -1}}), message);
}

TEST(Transformer, ObeysTheCostModelLaws) {
  for (const costs::model_shape& m :
       {tests::llama_3_1_8b(), tests::mixtral_8x7b(), tests::deepseek_v3(), tests::gpt_3_175b()}) {
    for (const recompute r : {recompute::none, recompute::selective, recompute::full}) {
      const shape on{.stages = 2, .tensor = 4, .context = 2, .chunks = 2};
      const transformer t = transformer::make(m, costs::gpus::h100(), on, {.recompute = r}).value();
      const testing::report found = testing::cost_model_laws(t, on.parts(), {.cases = tests::cases(30)});
      EXPECT_TRUE(found) << m.name << '\n' << found;
    }
  }
}

TEST(Gpus, AreFoundByName) {
  EXPECT_EQ(costs::gpus::named("h100"), costs::gpus::h100());
  EXPECT_EQ(costs::gpus::named("a100")->memory, bytes{80e9});
  EXPECT_EQ(costs::gpus::named("h200")->peak_bf16_flops, costs::gpus::h100().peak_bf16_flops);
  EXPECT_FALSE(costs::gpus::named("b300"));
}

}  // namespace
}  // namespace slimpack::transformer_test
