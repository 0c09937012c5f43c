#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/testing/cost_model_laws.hpp>

#include "../laws/cases.hpp"
#include "models.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
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
  return transformer::sheet(tests::tiny(), slow_gpu(), on, std::move(with)).value();
}

slice of_length(std::int64_t n) { return {{0}, {0}, {n}}; }

double time_of(const transformer& t, const slice& s, pass p, int part) { return t.time(s, p, part).value; }

std::string refusal(const shape& on, transformer::options with = {}) {
  const result<transformer> made = transformer::sheet(tests::llama_3_1_8b(), costs::gpus::h100(), on, std::move(with));
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

// Without a layer: the head's 80 flops a token, no attention and no launch, and its 40 weights to read. 18 bytes of
// states for each of these and, on the first part, of the embedding's 40.
TEST(Transformer, PricesAPartWithoutLayersByItsEndOfTheModel) {
  const shape on{.stages = 4, .replicas = 2};
  const transformer t = tiny(on, {.distributed_optimizer = false, .layers = {0, 1, 1, 0}, .launch = {0.5}});
  for (const slice& s : {of_length(4), slice{{0}, {4}, {4}}}) {
    EXPECT_DOUBLE_EQ(time_of(t, s, pass::forward, 3), 4 * 80.0 / 288);
    EXPECT_DOUBLE_EQ(time_of(t, s, pass::backward, 3), 8 * 80.0 / 288);
    EXPECT_EQ(time_of(t, s, pass::forward, 0), 0) << "a token is looked up";
    EXPECT_DOUBLE_EQ(time_of(t, s, pass::forward, 1), time_of(tiny(), s, pass::forward, 0));
  }
  EXPECT_DOUBLE_EQ(t.weight_time(of_length(4), 3).value, 4 * 80.0 / 288);
  EXPECT_EQ(t.overhead(pass::forward, 3), seconds{});
  EXPECT_DOUBLE_EQ(t.time(std::vector<slice>{of_length(1)}, pass::forward, 3).value, 40 * 2 / 72.0);
  EXPECT_DOUBLE_EQ(t.memory(0)->fixed, 18 * 40);
  EXPECT_DOUBLE_EQ(t.memory(3)->fixed, 18 * 40);
  for (const int part : {0, 3}) {
    ASSERT_EQ(t.gradient_buckets(part).size(), 1u);
    EXPECT_EQ(t.gradient_buckets(part)[0].at, 0);
  }
  EXPECT_EQ(t.gradient_buckets(0)[0].scatter, t.gradient_buckets(3)[0].scatter);
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

TEST(Transformer, ChargesTheCallOfEachPieceBesides) {
  const transformer t = tiny({.stages = 2}, {.launch = {0.5}, .call = {0.25}});
  const std::vector<slice> two{of_length(4), of_length(2)};
  EXPECT_DOUBLE_EQ(pack_time(t, two, pass::forward, 0).value, t.time(two, pass::forward, 0).value + 2 * 0.25);
  EXPECT_DOUBLE_EQ(pack_time(t, two, pass::backward, 1).value, t.time(two, pass::backward, 1).value + 2 * 0.25);
}

// Gate and up again: 2 x 2 x 4 x 8 = 128 flops a token. Attention again: its forward of 1 s. All again: the layer,
// attention and launches included, but not the head, whose input is kept.
TEST(Transformer, ComputesAgainByHand) {
  const transformer selective = tiny({.stages = 2}, {.recompute = recompute::selective, .launch = {0.5}});
  EXPECT_DOUBLE_EQ(time_of(selective, of_length(4), pass::backward, 0), 8 + 3 + 4 * 128.0 / 288);
  EXPECT_DOUBLE_EQ(selective.overhead(pass::backward, 0).value, 1);
  const transformer light = tiny({.stages = 2}, {.recompute = recompute::light, .launch = {0.5}});
  EXPECT_EQ(time_of(light, of_length(4), pass::backward, 0), 8 + 3) << "no element-wise kernels";
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
    return transformer::sheet(tests::llama_3_1_8b(), costs::gpus::h100(), {.stages = 4, .tensor = 8}, {.recompute = r})
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
    const transformer t = transformer::sheet(m, slow_gpu(), on).value();
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
  const transformer t = transformer::sheet(m, slow_gpu(), {.stages = 2}, {.layers = {2, 1}}).value();
  EXPECT_DOUBLE_EQ(time_of(t, of_length(4), pass::forward, 0), 2 * (4 + 1));
  EXPECT_EQ(t.memory(0)->live_token, 2 * 104);
  EXPECT_EQ(t.memory(1)->live_token, 104 + 8);
}

// The first 1 of 2 layers is dense (f 8), the other has 4 experts of width 4, one active, and a router 4 x 4.
TEST(Transformer, KnowsWhichLayersHaveExperts) {
  costs::model_shape m = tests::tiny();
  m.experts = 4, m.experts_per_token = 1, m.expert_intermediate = 4, m.dense_layers = 1;
  const transformer t = transformer::sheet(m, slow_gpu(), {.stages = 2}).value();
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
    return transformer::sheet(m, slow_gpu(), {.stages = stages}).value().memory(stage)->fixed / 18;
  };
  EXPECT_EQ(fixed(1, 0), 3 * 144 + 80);
  EXPECT_EQ(fixed(3, 0), 144 + 40);
  EXPECT_EQ(fixed(3, 1), 144);
  EXPECT_EQ(fixed(3, 2), 144 + 40);
  m.tied = true;
  EXPECT_EQ(fixed(1, 0), 3 * 144 + 40);
  EXPECT_EQ(fixed(3, 0), 144 + 40);
  EXPECT_EQ(fixed(3, 2), 144 + 40);
  EXPECT_EQ(transformer::sheet(m, slow_gpu(), {.stages = 3}).value().memory(0)->forward_token, 0);
  EXPECT_EQ(transformer::sheet(m, slow_gpu(), {.stages = 3}).value().memory(2)->forward_token, 40);
}

// Two ranks: matrices 8 + 8 + 16 + 48 = 80 weights each (keys and values on both), 160 flops; four all-reduces of 2 x 4
// bytes, half of them moved, at 16 bytes/s, 1 s a token, and 4 x 0.125 s a pack; backward half as many again.
TEST(Transformer, ReducesBetweenTensorRanks) {
  const transformer t = tiny({.stages = 2, .tensor = 2});
  EXPECT_DOUBLE_EQ(time_of(t, of_length(4), pass::forward, 0), 4 * (160.0 / 288 + 1) + 0.5);
  EXPECT_DOUBLE_EQ(time_of(t, of_length(4), pass::backward, 0), 4 * (2 * 160.0 / 288 + 1.5) + 1.5);
  EXPECT_DOUBLE_EQ(t.overhead(pass::forward, 0).value, 0.5 + 0.5);
  EXPECT_DOUBLE_EQ(t.overhead(pass::backward, 0).value, 1 + 0.75);
  EXPECT_DOUBLE_EQ(t.collectives(of_length(4), pass::forward, 0).value, 4);
  EXPECT_DOUBLE_EQ(t.collectives(of_length(4), pass::backward, 0).value, 6);
  EXPECT_EQ(tiny({.stages = 2}).collectives(of_length(4), pass::forward, 0), seconds{});
}

TEST(Transformer, SharesWorkOverContextRanks) {
  const transformer t = tiny({.stages = 2, .context = 2});
  EXPECT_DOUBLE_EQ(t.useful(of_length(4), pass::forward, 0).value, (4 + 1) / 2.0);
  EXPECT_EQ(t.least(of_length(4), pass::forward, 0), t.useful(of_length(4), pass::forward, 0));
}

// One hop inside a node, of half the tokens, at 16 bytes/s. Keys and values of a token, 2 x 4 bytes, take 0.25 s,
// backward twice; queries and outputs, 2 x 8 bytes, 0.5 s, backward 0.75: fewer bytes from three tokens of prefix on.
// Half of the attention runs meanwhile: 0.025 s a pair, backward three times.
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
  const transformer t = transformer::sheet(m, slow_gpu(), {.stages = 3}).value();
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
  const transformer t = transformer::sheet(m, slow_gpu(), {.stages = 2, .chunks = 2}).value();
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
  EXPECT_DOUBLE_EQ(tiny({.stages = 2, .replicas = 2}, {.reduction = costs::reduction::exposed}).reduce_time().value,
                   0.5 + 184 * 6 / 2 / 4.0);
  EXPECT_EQ(tiny().reduce_time(), seconds{0});
}

// Parts are far smaller than a bucket: one each, of 184 weights, as above but for what follows the work.
TEST(Transformer, ReducesGradientsBesideTheWork) {
  const transformer t = tiny({.stages = 2, .replicas = 2});
  EXPECT_EQ(t.reduce_time(), seconds{0});
  for (int part = 0; part < 2; ++part) {
    const std::span<const gradient_bucket> own = t.gradient_buckets(part);
    ASSERT_EQ(own.size(), 1u);
    EXPECT_EQ(own[0].at, 0);
    EXPECT_DOUBLE_EQ(own[0].scatter.value, 0.25 + 184 * 4 / 2 / 4.0);
    EXPECT_DOUBLE_EQ(own[0].gather.value, 0.25 + 184 * 2 / 2 / 4.0);
  }
  EXPECT_TRUE(tiny({.stages = 2}).gradient_buckets(0).empty());
}

// A layer of Llama 3.1 8B has 218 million weights, its embedding and its head 525 million: a bucket each. The head is
// 2 x 525 of 2 x (8 x 218 + 525) million operations.
TEST(Transformer, CutsBucketsBetweenLayers) {
  const shape on{.stages = 4, .replicas = 2};
  const transformer t = transformer::sheet(tests::llama_3_1_8b(), costs::gpus::h100(), on).value();
  EXPECT_EQ(t.gradient_buckets(0).size(), 9u);
  EXPECT_EQ(t.gradient_buckets(1).size(), 8u);
  EXPECT_EQ(t.gradient_buckets(3).size(), 9u);
  EXPECT_EQ(t.gradient_buckets(0)[1].at, 0);  // the embedding takes no time
  EXPECT_DOUBLE_EQ(t.gradient_buckets(1)[3].at, 3.0 / 8);
  const double layer = 2 * 4096.0 * (4096 + 1024) + 3 * 4096.0 * 14336;  // query and output, keys and values, MLP
  EXPECT_NEAR(t.gradient_buckets(3)[8].at, 8 * layer / (8 * layer + 4096.0 * 128256), 1e-12);
  // Tensor-parallel ranks have shares: at 8 of them, layers have 27 million, and two of these are a bucket.
  const transformer eighth =
      transformer::sheet(tests::llama_3_1_8b(), costs::gpus::h100(), {.stages = 4, .replicas = 2, .tensor = 8}).value();
  EXPECT_EQ(eighth.gradient_buckets(1).size(), 4u);
  EXPECT_EQ(eighth.gradient_buckets(1)[1].at, 0.25);
}

transformer tiny_experts(const shape& on, transformer::options with = {.launch = {0.5}}) {
  return transformer::sheet(tests::tiny_experts(), slow_gpu(), on, std::move(with)).value();
}

// Two replicas on a node divide 4 experts; the busier one has 1.5 times the mean of 2 rows a token: 2 (48 + 16 + 3 x
// 96) flops of 288 a second, and 0.1 s for a pair. A token sends 2 x 4 x 2 bytes, the busier rank gets 24 and half of
// them from the other one, at 16 bytes/s: 0.75 s, and back as long; 0.125 s a pack each.
TEST(Transformer, WaitsForTheBusiestRankAndBothAllToAlls) {
  const shape on{.stages = 2, .replicas = 2, .expert = 2};
  const transformer t = tiny_experts(on, {.launch = {0.5}, .routing = {.imbalance = 1.5}});
  EXPECT_DOUBLE_EQ(time_of(t, of_length(1), pass::forward, 0), 704 / 288.0 + 1.5 + 0.1);
  EXPECT_DOUBLE_EQ(time_of(t, of_length(1), pass::backward, 0), 2 * 704 / 288.0 + 1.5 + 0.3);
  EXPECT_EQ(t.overhead(pass::forward, 0), seconds{0.5 + 0.25});
  EXPECT_EQ(t.overhead(pass::backward, 0), seconds{1 + 0.25});
  const transformer full =
      tiny_experts(on, {.recompute = recompute::full, .launch = {0.5}, .routing = {.imbalance = 1.5}});
  EXPECT_DOUBLE_EQ(time_of(full, of_length(1), pass::backward, 0), 3 * 704 / 288.0 + 3 + 0.4);
}

// A layer with the other factor: the second one, on the other stage, with logits of 80 flops.
TEST(Transformer, TakesAFactorOfImbalanceForEachLayer) {
  const shape on{.stages = 2, .replicas = 2, .expert = 2};
  const transformer t = tiny_experts(on, {.routing = {.imbalances = {1.5, 1}}});
  EXPECT_DOUBLE_EQ(time_of(t, of_length(1), pass::forward, 0), 704 / 288.0 + 1.5 + 0.1);
  EXPECT_DOUBLE_EQ(time_of(t, of_length(1), pass::forward, 1), (512 + 80) / 288.0 + 1 + 0.1);
}

// Half of the all-to-alls is hidden; all of it under products of 2.44 s; of products ten times as fast, 0.244 s of 1.5.
TEST(Transformer, HidesAllToAllsUnderProductsThatTakeAsLong) {
  const shape on{.stages = 2, .replicas = 2, .expert = 2};
  const auto with = [](double overlap) {
    return transformer::options{.launch = {0.5}, .routing = {.imbalance = 1.5, .overlap = overlap}};
  };
  EXPECT_DOUBLE_EQ(time_of(tiny_experts(on, with(0.5)), of_length(1), pass::forward, 0), 704 / 288.0 + 0.75 + 0.1);
  const transformer hidden = tiny_experts(on, with(1));
  EXPECT_DOUBLE_EQ(time_of(hidden, of_length(1), pass::forward, 0), 704 / 288.0 + 0.1);
  EXPECT_EQ(hidden.overhead(pass::forward, 0), seconds{0.5});
  costs::gpu fast = slow_gpu();
  fast.gemm_efficiency *= 10;
  const transformer too_short = transformer::sheet(tests::tiny_experts(), fast, on, with(1)).value();
  EXPECT_DOUBLE_EQ(time_of(too_short, of_length(1), pass::forward, 0), 1.5 + 0.1);
}

// Without shared experts only attention gathers and scatters: half the tensor-parallel traffic. A rank has half of the
// tokens and sends half of the bytes, 2 x 4 x 2 / 2, of which half goes to its peer: 0.25 s, and back. Its products are
// 2 (32 + 8 + 2 x 48) flops either way, keys and values of one head being on both.
TEST(Transformer, GathersForAttentionOnlyWhereRanksDivideExperts) {
  const double one_gather = 2 * 4 * 0.5 / 16;
  const transformer whole = tiny_experts({.stages = 2, .tensor = 2});
  EXPECT_DOUBLE_EQ(time_of(whole, of_length(1), pass::forward, 0), 272 / 288.0 + 4 * one_gather + 0.05);
  const transformer divided =
      tiny_experts({.stages = 2, .tensor = 2, .expert = 2}, {.launch = {0.5}, .routing = {.imbalance = 1}});
  EXPECT_DOUBLE_EQ(time_of(divided, of_length(1), pass::forward, 0), 272 / 288.0 + 2 * one_gather + 0.5 + 0.05);
}

// 4 replicas on 2 nodes: 64 + 40 weights have 4 copies, 2 on each node: 0.25 + 0.125 s, 3/4 over two adapters of 4
// bytes/s. 2 experts of 96 have 2 copies, on two nodes: 0.25 s, half at 4 bytes/s.
TEST(Transformer, ReducesExpertsOverTheirCopiesOnly) {
  const transformer::options exposed{.reduction = costs::reduction::exposed};
  EXPECT_DOUBLE_EQ(tiny_experts({.stages = 2, .replicas = 4, .expert = 2}, exposed).reduce_time().value,
                   2 * 0.375 + 104 * 6 * 0.75 / 8 + 2 * 0.25 + 192 * 6 * 0.5 / 4);
  EXPECT_DOUBLE_EQ(tiny_experts({.stages = 2, .replicas = 2, .expert = 2}, exposed).reduce_time().value,
                   2 * 0.125 + 104 * 6 * 0.5 / 16);
}

TEST(Transformer, AsksNothingOfRoutingWithoutExpertRanks) {
  const shape on{.stages = 2, .replicas = 2, .tensor = 2};
  const transformer plain = tiny_experts(on),
                    routed = tiny_experts(on, {.launch = {0.5}, .routing = {.imbalance = 7, .overlap = 1}});
  for (const pass p : {pass::forward, pass::backward})
    for (const int part : {0, 1}) {
      EXPECT_EQ(plain.time(of_length(5), p, part), routed.time(of_length(5), p, part));
      EXPECT_EQ(plain.overhead(p, part), routed.overhead(p, part));
    }
  EXPECT_EQ(plain.reduce_time(), routed.reduce_time());
  EXPECT_EQ(plain.memory(0), routed.memory(0));
}

TEST(Transformer, RefusesExpertRanksThatDivideNothing) {
  EXPECT_EQ(refusal({.replicas = 8, .expert = 8}), "expert parallelism of 8: llama-3.1-8b has no experts");
  const auto mixtral = [](const shape& on, costs::routing how = {}) {
    const result<transformer> made =
        transformer::sheet(tests::mixtral_8x7b(), costs::gpus::h100(), on, {.routing = std::move(how)});
    return made ? std::string("no refusal") : made.error().detail;
  };
  EXPECT_EQ(mixtral({.replicas = 3, .expert = 3}),
            "expert parallelism of 3 does not divide the 8 experts of mixtral-8x7b");
  EXPECT_EQ(mixtral({.replicas = 2, .tensor = 2, .expert = 8}),
            "expert parallelism of 8 does not divide the 4 ranks of a stage, dp 2 x cp 1 x tp 2");
  EXPECT_EQ(mixtral({.expert = 0}), "every degree of the shape must be at least 1");
  EXPECT_EQ(mixtral({.replicas = 2, .tensor = 2, .context = 2, .expert = 8}), "no refusal");
  EXPECT_EQ(mixtral({}, {.imbalances = {1, 1}}), "2 factors of imbalance, but mixtral-8x7b has 32 layers with experts");
  for (const double factor : {0.99, -1.0, 0.0 / 0.0, 1.0 / 0.0})
    EXPECT_EQ(mixtral({}, {.imbalance = factor}),
              "a factor of imbalance is the busiest rank over the mean, so it is at least 1");
  for (const double overlap : {-0.1, 1.1, 0.0 / 0.0})
    EXPECT_EQ(mixtral({}, {.overlap = overlap}), "the overlap of experts' traffic must be from 0 to 1");
  EXPECT_EQ(mixtral({}, {.nodes = -1}), "the nodes that a token goes to cannot be fewer than 0");
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
  const std::string message = "layers per part must be 2 counts that add up to 32";
  EXPECT_EQ(refusal({.stages = 2}, {.layers = {16, 15}}), message);
  EXPECT_EQ(refusal({.stages = 2}, {.layers = {32}}), message);
  EXPECT_EQ(refusal({.stages = 2}, {.layers = {33, -1}}), message);
}

TEST(Transformer, RefusesPartsWithNothingToDo) {
  const auto idle = [](const std::string& part) {
    return "part " + part +
           " has no layer and no end of the model, so it has nothing to do: give it a layer, or have fewer parts";
  };
  EXPECT_EQ(refusal({.stages = 2}, {.layers = {32, 0}}), "no refusal");
  EXPECT_EQ(refusal({.stages = 2}, {.layers = {0, 32}}), "no refusal");
  EXPECT_EQ(refusal({.stages = 3}, {.layers = {16, 0, 16}}), idle("1 of 3"));
  EXPECT_EQ(refusal({.stages = 2, .chunks = 2}, {.layers = {11, 0, 11, 10}}), idle("1 of 4"));
  EXPECT_EQ(refusal({.stages = 2, .chunks = 2}, {.layers = {11, 11, 10, 0}}), "no refusal");
  EXPECT_EQ(refusal({.stages = 2, .vocabulary = vocabulary::spread}, {.layers = {32, 0}}), idle("1 of 2"));
  EXPECT_EQ(refusal({.stages = 2, .vocabulary = vocabulary::spread}, {.layers = {0, 32}}), idle("0 of 2"));
}

TEST(Transformer, ObeysTheCostModelLawsWithoutLayersAtItsEnds) {
  const shape on{.stages = 4, .replicas = 2, .tensor = 2, .context = 2};
  const std::vector<int> layers{0, 16, 16, 0};
  for (const recompute r : {recompute::none, recompute::selective, recompute::full}) {
    const transformer sheet =
        transformer::sheet(tests::llama_3_1_8b(), costs::gpus::h100(), on, {.recompute = r, .layers = layers}).value();
    costs::stage_options with;
    with.layers = layers, with.recompute = r;
    const transformer reached = transformer::make(tests::llama_3_1_8b(), costs::gpus::h100(), on, with).value();
    for (const transformer* const t : {&sheet, &reached}) {
      const testing::report found = testing::cost_model_laws(*t, on.parts(), {.cases = tests::cases(30)});
      EXPECT_TRUE(found) << found;
    }
  }
}

TEST(Transformer, ObeysTheCostModelLaws) {
  for (const costs::model_shape& m :
       {tests::llama_3_1_8b(), tests::mixtral_8x7b(), tests::deepseek_v3(), tests::gpt_3_175b()}) {
    for (const recompute r : {recompute::none, recompute::selective, recompute::full}) {
      for (const int expert : {1, 8}) {
        if (expert > 1 && m.experts == 0) continue;
        const shape on{.stages = 2, .tensor = 4, .context = 2, .chunks = 2, .expert = expert};
        const transformer t =
            transformer::sheet(m, costs::gpus::h100(), on, {.recompute = r, .routing = {.overlap = 0.5}}).value();
        const testing::report found = testing::cost_model_laws(t, on.parts(), {.cases = tests::cases(30)});
        EXPECT_TRUE(found) << m.name << ", ep " << expert << '\n' << found;
      }
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
