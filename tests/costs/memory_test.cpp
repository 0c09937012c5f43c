#include <slimpack/costs/memory/memory.hpp>

#include "models.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace slimpack::memory_test {
namespace {

using costs::layer;
using costs::recompute;

constexpr double gib = 1024.0 * 1024 * 1024;

/// SlimPipe's 150B model. Its widths are derived: round ones that give its two rows of activations to the last digit.
costs::model_shape slimpipe_150b() {
  return {.name = "150B",
          .layers = 96,
          .hidden = 12288,
          .heads = 96,
          .kv_heads = 8,
          .head_dim = 128,
          .value_dim = 128,
          .intermediate = 32768,
          .vocabulary = 128256,
          .tied = true};
}

/// What a stage of an even pipeline holds.
memory_rates stage_of(const costs::model_shape& m, const shape& on, costs::memory rule, int embeddings, bool has_head) {
  const std::vector<layer> layers(static_cast<std::size_t>(m.layers / on.stages), layer::of(m, false, on.tensor));
  return rule.of(m, on, layers, embeddings, has_head);
}

memory_rates tiny(costs::memory rule, const shape& on = {.stages = 2}, bool has_head = false) {
  return stage_of(tests::tiny(), on, rule, 0, has_head);
}

/// Bytes of weights and gradients: what is fixed, less the 12 of 18 bytes that an unsharded optimizer takes.
double weights_and_gradients(const costs::model_shape& m, int tensor, int stages) {
  return stage_of(m, {.stages = stages, .tensor = tensor}, {.distributed_optimizer = false}, 1, false).fixed * 6 / 18;
}

// One layer of 144 weights: 6 + 12 bytes each; 104 bytes a live token; dK and dV 4 x 4 bytes.
TEST(Memory, CountsByHand) {
  const memory_rates r = tiny({});
  EXPECT_EQ(r.fixed, 144 * 18);
  EXPECT_EQ(r.live_token, 104);
  EXPECT_EQ(r.gradient_token, 16);
  EXPECT_EQ(r.forward_token, 0);
  EXPECT_EQ(r.backward_token, 0);
}

// The head adds the last norm's input, 2 x 4, and fp32 logits, 4 x 10, to a running token, and an embedding 10 x 4
// weights.
TEST(Memory, CountsLogitsWhereTheHeadIs) {
  const memory_rates r = stage_of(tests::tiny(), {.stages = 2}, {}, 1, true);
  EXPECT_EQ(r.fixed, (144 + 40) * 18);
  EXPECT_EQ(r.live_token, 112);
  EXPECT_EQ(r.forward_token, 40);
  EXPECT_EQ(r.backward_token, 40);
}

// Light drops 16 of norms and 16 of the MLP's product, selective also 32 of gate and up; full keeps each layer's input,
// 2 x 4, and keys and values, 2 x 4, for later slices. What is dropped is there again while a token runs backward: for
// full, a whole layer.
TEST(Memory, KeepsLessTheMoreIsComputedAgain) {
  const memory_rates light = tiny({.recompute = recompute::light});
  EXPECT_EQ(light.live_token, 104 - 16 - 16);
  EXPECT_EQ(light.backward_token, 16 + 16);
  const memory_rates selective = tiny({.recompute = recompute::selective});
  EXPECT_EQ(selective.live_token, 104 - 16 - 48);
  EXPECT_EQ(selective.backward_token, 16 + 48);
  const memory_rates full = tiny({.recompute = recompute::full});
  EXPECT_EQ(full.live_token, 8 + 8);
  EXPECT_EQ(full.backward_token, 104);
  EXPECT_EQ(full.gradient_token, 16);
}

// Flash attention has no scores to drop.
TEST(Memory, FreesNothingByAttentionAloneUnderFlashAttention) {
  EXPECT_EQ(tiny({.recompute = recompute::attention}), tiny({}));
}

// Nobody reads keys and values of a whole sequence once its forward has ended. Bounds count no more than that, whatever
// is recomputed.
TEST(Memory, KeepsWhatLaterSlicesReadOfSequencesThatAreCut) {
  for (const recompute what : costs::all_recompute) {
    const memory_rates cut = tiny({.recompute = what}), whole = tiny({.recompute = what, .cuts = false});
    EXPECT_EQ(cut.prefix_token, what == recompute::full ? 8 : 0) << name_of(what);
    EXPECT_EQ(whole.prefix_token, 0) << name_of(what);
    EXPECT_EQ(cut.least_token(), whole.live_token) << name_of(what);
    EXPECT_EQ(cut.backward_token, whole.backward_token) << name_of(what);
  }
  EXPECT_EQ(tiny({.recompute = recompute::full}, {.stages = 2, .context = 2}).prefix_token, 4);
}

// A layer's input of 2 h and keys and values of 2 x 2 k bytes: 1.5 times the input for k = h / 4, on 8 tensor ranks
// with a head each 1.25 times.
TEST(Memory, OfFullRecomputationIsHalfAsMuchAgainForAModelOfEightBillion) {
  const auto factor = [](const costs::model_shape& m, int tensor) {
    const memory_rates r = stage_of(m, {.stages = 4, .tensor = tensor}, {.recompute = recompute::full}, 0, false);
    return r.live_token / r.least_token();
  };
  EXPECT_EQ(factor(tests::llama_3_1_8b(), 1), 1.5);
  costs::model_shape seventy = tests::llama_3_1_8b();
  seventy.layers = 80, seventy.hidden = 8192, seventy.heads = 64, seventy.intermediate = 28672;
  EXPECT_EQ(factor(seventy, 1), 1.25);
  EXPECT_EQ(factor(seventy, 8), 1.25);
}

// MLA has keys of 192 and values of 128 for each of 128 heads where a table has them expanded; its latents, 0.16 bytes
// an element of 7168, where they are what a table marks.
TEST(Memory, OfFullRecomputationHasWhatTheTableMarksOfMla) {
  const std::vector<layer> one{layer::of(tests::deepseek_v3(), false, 1)};
  costs::memory rule{.recompute = recompute::full};
  const auto prefix = [&] { return rule.of(tests::deepseek_v3(), {.stages = 2}, one, 0, false).prefix_token; };
  EXPECT_EQ(prefix(), 2 * 128 * (192 + 128));
  rule.tensors.layer = {{.hidden = 2, .full = true}, {.hidden = 0.16, .light = true, .prefix = true}};
  EXPECT_DOUBLE_EQ(prefix(), 0.16 * 7168);
  rule.tensors.layer = {{.hidden = 2, .full = true}, {.hidden = 0.16, .light = true}};
  EXPECT_EQ(prefix(), 2 * 128 * (192 + 128)) << "keys and values in bf16, of a table that marks none";
}

TEST(Memory, OrdersRecomputeVariantsOfRealModels) {
  for (const costs::model_shape& m : {tests::llama_3_1_8b(), tests::slimpipe_70b(), tests::gpt_3_175b()}) {
    const auto live = [&](recompute r) {
      return stage_of(m, {.stages = 4, .tensor = 8}, {.recompute = r}, 1, true).live_token;
    };
    EXPECT_GT(live(recompute::none), live(recompute::light)) << m.name;
    EXPECT_GT(live(recompute::light), live(recompute::selective)) << m.name;
    EXPECT_GT(live(recompute::selective), live(recompute::full)) << m.name;
  }
}

// Mixtral's layer has 41,943,040 + 32,768 weights beside 8 experts of 176,160,768. 16 replicas: 6 + 12 / 16 bytes of
// each; over 8 ranks one expert, of which there are two copies: 6 + 12 / 2. The rows that a rank gets, 2 x 4096
// elements of 2 bytes a token, are kept but under full recomputation.
TEST(Memory, DividesExpertsToTheByte) {
  const costs::model_shape m = tests::mixtral_8x7b();
  const auto one = [&](const shape& on, recompute what) {
    const std::vector<layer> layers{layer::of(m, true, on.tensor, on.expert, 1)};
    return costs::memory{.recompute = what}.of(m, on, layers, 0, false);
  };
  const double dense = 41943040 + 32768, expert = 176160768;
  const memory_rates whole = one({.replicas = 16}, recompute::none);
  const memory_rates divided = one({.replicas = 16, .expert = 8}, recompute::none);
  EXPECT_EQ(whole.fixed, (dense + 8 * expert) * 6.75);
  EXPECT_EQ(divided.fixed, dense * 6.75 + expert * 12);
  EXPECT_EQ(divided.live_token, whole.live_token + 2 * 2 * 4096);
  EXPECT_EQ(one({.replicas = 16, .expert = 8}, recompute::selective).live_token,
            one({.replicas = 16}, recompute::selective).live_token + 2 * 2 * 4096);
  EXPECT_EQ(one({.replicas = 16, .expert = 8}, recompute::full).live_token,
            one({.replicas = 16}, recompute::full).live_token);
  // Tensor-parallel ranks halve the rest, but no expert: 2 x 2 x 8 ranks over 8 are 4 copies.
  EXPECT_EQ(one({.replicas = 8, .tensor = 2, .context = 2, .expert = 8}, recompute::none).fixed,
            dense / 2 * 6.75 + expert * (6 + 12 / 4.0));
}

// Fully sharded: 18 bytes over the copies; beside them the layer in use and the next, 2 bytes a weight, and its
// gradients.
TEST(Memory, ShardsExpertsOverTheirCopies) {
  costs::saved_tensors table = costs::saved_tensors::flash_attention();
  table.gathered_weight = 2;
  const std::vector<layer> layers{layer::of(tests::tiny_experts(), true, 1, 2)};
  const memory_rates r =
      costs::memory{.tensors = table}.of(tests::tiny_experts(), {.replicas = 4, .expert = 2}, layers, 0, false);
  EXPECT_EQ(r.fixed, 64 * 18 / 4.0 + 192 * 18 / 2.0 + (64 + 192) * (2 * 2 + 4));
}

// Optimizer states: 12 bytes a parameter, over 3 replicas of 2 context ranks when distributed: 6 + 2.
TEST(Memory, ShardsADistributedOptimizer) {
  const shape on{.stages = 2, .replicas = 3, .context = 2};
  EXPECT_EQ(tiny({}, on).fixed, 144 * (6 + 2));
  EXPECT_EQ(tiny({.distributed_optimizer = false}, on).fixed, 144 * 18);
}

// 3 bytes a head of 2 while a layer runs backward, beside the 16 + 48 that selective computes again.
TEST(Memory, CountsTheGradientsOfTheRunningLayerOnce) {
  costs::saved_tensors table = costs::saved_tensors::flash_attention();
  table.running = {{.heads = 3}};
  const shape on{.stages = 1};
  const memory_rates r = stage_of(tests::tiny(), on, {.recompute = recompute::selective, .tensors = table}, 0, false);
  EXPECT_EQ(r.backward_token, 16 + 48 + 2 * 3);
  EXPECT_EQ(r.live_token, 2 * (104 - 16 - 48));
}

// 3 layers of 2 heads, 5 bytes a pair: a piece of 4 queries behind 6 tokens has 4 x 10 pairs, masked ones too; two
// context ranks share them. Nothing of it is left where scores are computed again.
TEST(Memory, CountsDenseAttentionByQueriesTimesKeys) {
  costs::memory rule{.tensors = {.layer = {{.pairs = 5, .selective = true}}}};
  const std::vector<layer> layers(3, layer::of(tests::tiny(), false, 1));
  const slice piece{{0}, {6}, {4}};
  EXPECT_EQ(costs::memory::kept(piece, rule.pair_bytes({}, layers)).value, 3 * 2 * 5 * 4 * 10);
  EXPECT_EQ(costs::memory::kept(piece, rule.pair_bytes({.context = 2}, layers)).value, 3 * 2 * 5 * 4 * 10 / 2);
  rule.recompute = recompute::attention;
  EXPECT_EQ(rule.pair_bytes({}, layers), 0);
}

// Of 5 + 3 bytes a pair of 2 heads, 3 are kept under selective recomputation and none under that of attention; what is
// not kept is there of one layer, however many there are, while a pack runs. Backward has 4 bytes of gradients besides.
TEST(Memory, CountsScoresOfTheRunningPackInOneLayer) {
  costs::memory rule{.tensors = {.layer = {{.pairs = 5}, {.pairs = 3, .selective = true}}, .running = {{.pairs = 4}}}};
  const std::vector<layer> layers(3, layer::of(tests::tiny(), false, 1));
  const auto pairs_of = [&](recompute again, int context) {
    rule.recompute = again;
    const memory_rates r = rule.of(tests::tiny(), {.context = context}, layers, 0, false);
    return std::pair(r.forward_pair, r.backward_pair);
  };
  EXPECT_EQ(pairs_of(recompute::none, 1), std::pair(0.0, 2 * 4.0));
  EXPECT_EQ(pairs_of(recompute::selective, 1), std::pair(2 * 5.0, 2 * 9.0));
  EXPECT_EQ(pairs_of(recompute::attention, 1), std::pair(2 * 8.0, 2 * 12.0));
  EXPECT_EQ(pairs_of(recompute::full, 2), std::pair(8.0, 12.0));
  const memory_rates evaluation = rule.of_evaluation(tests::tiny(), {}, layers, 0, false);
  EXPECT_EQ(evaluation.forward_pair, 2 * 8);
  EXPECT_EQ(evaluation.backward_pair, 0);
}

// 4 + 4 + 8 bytes a parameter over 6 copies. One stage holds bf16 weights of two units and fp32 gradients of one,
// 2 x 2 + 4 bytes of the largest, a layer of 144; a pipeline those of the whole stage, 2 + 4 bytes of 144 + 40.
TEST(Memory, ShardsAllStatesWhereWeightsAreGathered) {
  const costs::memory rule{.tensors = {.weight = 4, .gradient = 4, .optimizer = 8, .gathered_weight = 2}};
  const shape one{.stages = 1, .replicas = 3, .context = 2};
  EXPECT_EQ(stage_of(tests::tiny(), one, rule, 2, true).fixed, (2 * 144 + 2 * 40) * 16 / 6.0 + 8 * 144);
  const shape two{.stages = 2, .replicas = 3, .context = 2};
  EXPECT_EQ(stage_of(tests::tiny(), two, rule, 1, true).fixed, (144 + 40) * 16 / 6.0 + 6 * (144 + 40));
}

/// What a stage of an even pipeline holds while it evaluates.
memory_rates evaluation_of(const costs::model_shape& m, const shape& on, const costs::memory& rule, int embeddings,
                           bool has_head) {
  const std::vector<layer> layers(static_cast<std::size_t>(m.layers / on.stages), layer::of(m, false, on.tensor));
  return rule.of_evaluation(m, on, layers, embeddings, has_head);
}

// One layer of 144 weights of 2 bytes; K and V, 2 x 4 bytes a token; a layer runs with its 104 bytes. Nothing is of
// backward.
TEST(MemoryOfEvaluations, IsCountedByHand) {
  const memory_rates r = evaluation_of(tests::tiny(), {.stages = 2}, {}, 0, false);
  EXPECT_EQ(r, (memory_rates{.fixed = 144 * 2, .live_token = 8, .forward_token = 104}));
  EXPECT_EQ(evaluation_of(tests::tiny(), {.stages = 2, .replicas = 4}, {}, 0, false), r);
  for (const recompute again : costs::all_recompute)
    EXPECT_EQ(evaluation_of(tests::tiny(), {.stages = 2}, {.recompute = again}, 0, false), r);
  const memory_rates shared = evaluation_of(tests::tiny(), {.stages = 2, .context = 2}, {}, 0, false);
  EXPECT_EQ(shared, (memory_rates{.fixed = 144 * 2, .live_token = 4, .forward_token = 52}));
}

// The norm's input, 2 x 4, and logits, 4 x 10, are less than the layer's 104; with 100 words they are more. Two layers
// keep twice K and V, and run one after the other.
TEST(MemoryOfEvaluations, HasLayersAndLogitsOneAfterTheOther) {
  costs::model_shape m = tests::tiny();
  EXPECT_EQ(evaluation_of(m, {}, {}, 2, true),
            (memory_rates{.fixed = (2 * 144 + 2 * 40) * 2, .live_token = 16, .forward_token = 104}));
  m.vocabulary = 100;
  EXPECT_EQ(evaluation_of(m, {}, {}, 2, true).forward_token, 2 * 4 + 4 * 100);
}

// 16 layers of h 4096, k 2 x 1024 and f 14336 on 2 ranks: 2 bytes of (2 h^2 + 2 h 1024 + 3 h f) / 2 weights a layer and
// of 128,256 h / 2; live 16 x 2 x 1024 bytes a token, of which a step keeps 16 x (12 h + 4 k + 6 f) / 2.
TEST(MemoryOfEvaluations, IsASmallPartOfAStepsOnRealModels) {
  const costs::model_shape m = tests::llama_3_1_8b();
  const shape on{.stages = 2, .tensor = 2};
  const memory_rates r = evaluation_of(m, on, {}, 1, false);
  const double h = 4096, f = 14336;
  EXPECT_EQ(r.fixed, 2 * (16 * (2 * h * h + 2 * h * 1024 + 3 * h * f) / 2 + 128256 * h / 2));
  EXPECT_EQ(r.live_token, 16 * 2 * 1024);
  EXPECT_EQ(r.forward_token, (12 * h + 4 * 1024 + 6 * f) / 2);
  const memory_rates step = stage_of(m, on, {}, 1, false);
  EXPECT_EQ(step.fixed, 9 * r.fixed);
  EXPECT_GT(step.live_token, 10 * r.live_token);
}

// A shard of 2 bytes over 6 copies; gathered are a pipeline's whole stage, or two layers of 144 at a time.
TEST(MemoryOfEvaluations, ShardsWeightsAlone) {
  costs::memory rule{.tensors = {.weight = 4, .gradient = 4, .optimizer = 8, .gathered_weight = 2}};
  const shape one{.replicas = 3, .context = 2}, two{.stages = 2, .replicas = 3, .context = 2};
  EXPECT_DOUBLE_EQ(evaluation_of(tests::tiny(), one, rule, 2, true).fixed, 2 * ((2 * 144 + 2 * 40) / 6.0 + 2 * 144));
  EXPECT_DOUBLE_EQ(evaluation_of(tests::tiny(), two, rule, 1, true).fixed, 2 * ((144 + 40) / 6.0 + 144 + 40));
  rule.tensors.gathered_gradient = 3;
  EXPECT_DOUBLE_EQ(evaluation_of(tests::tiny(), two, rule, 1, true).fixed, 2 * ((144 + 40) / 6.0 + 2 * 144));
}

// 3 bytes of a hidden width of 4, of a running token, where a part sends it on.
TEST(MemoryOfEvaluations, CountsWhatIsSent) {
  costs::memory sends{};
  sends.tensors.boundary = {{.hidden = 3}};
  EXPECT_EQ(evaluation_of(tests::tiny(), {.stages = 2}, sends, 0, false).forward_token, 104 + 12);
  EXPECT_EQ(evaluation_of(tests::tiny(), {.stages = 2}, sends, 0, true).forward_token, 104);
  EXPECT_EQ(evaluation_of(tests::tiny(), {.stages = 2, .chunks = 2}, sends, 0, true).forward_token, 104 + 12);
}

// Whole experts of a rank, and the rows that it got for them while a layer runs.
TEST(MemoryOfEvaluations, HasTheExpertsOfARank) {
  const costs::model_shape m = tests::mixtral_8x7b();
  const auto one = [&](const shape& on) {
    return costs::memory{}.of_evaluation(m, on, std::vector<layer>{layer::of(m, true, on.tensor, on.expert, 1)}, 0,
                                         false);
  };
  const double dense = 41943040 + 32768, expert = 176160768;
  const memory_rates whole = one({.replicas = 16}), divided = one({.replicas = 16, .expert = 8});
  EXPECT_EQ(whole.fixed, 2 * (dense + 8 * expert));
  EXPECT_EQ(divided.fixed, 2 * (dense + expert));
  EXPECT_EQ(divided.forward_token, whole.forward_token + 2 * 2 * 4096);
}

// 3 bytes of a hidden width of 4 for each part that sends on: all of a stage's, but the one with the logits.
TEST(Memory, CountsWhatPartsKeepOfWhatTheySend) {
  const costs::memory plain{};
  costs::memory sends{};
  sends.tensors.boundary = {{.hidden = 3}};
  const auto added = [&](const shape& on, bool has_head) {
    return tiny(sends, on, has_head).live_token - tiny(plain, on, has_head).live_token;
  };
  EXPECT_EQ(added({.stages = 2}, false), 12);
  EXPECT_EQ(added({.stages = 2}, true), 0);
  EXPECT_EQ(added({.stages = 2, .chunks = 3}, false), 36);
  EXPECT_EQ(added({.stages = 2, .chunks = 3}, true), 24);
  EXPECT_EQ(added({.stages = 1}, true), 0);
  EXPECT_EQ(added({.stages = 2, .context = 2}, false), 6);
}

// Gathered layer by layer, weights of 2 bytes and gradients of 3: on a stage without logits a layer of 144 has 5 x 144
// bytes in use; on one with logits the matrix, 2 x 40, and 4 x 10 bytes of logits a token. Under full recomputation a
// layer, 104 bytes, is more than the logits. A buffer of 2 bytes a head of 2 is always there.
TEST(Memory, CountsThePhaseOfBackwardThatHoldsMost) {
  const costs::saved_tensors fused = costs::saved_tensors::flash_attention();
  const costs::memory rule{.tensors = {.layer = fused.layer,
                                       .head = fused.head,
                                       .running = {{.heads = 2}},
                                       .logit_backward = 4,
                                       .weight = 4,
                                       .gradient = 4,
                                       .optimizer = 8,
                                       .gathered_weight = 2,
                                       .gathered_gradient = 3}};
  const shape two{.stages = 2, .replicas = 4};
  const memory_rates first = stage_of(tests::tiny(), two, rule, 1, false);
  EXPECT_EQ(first.fixed, (144 + 40) * 16 / 4 + 5 * 144);
  EXPECT_EQ(first.backward_token, 2 * 2);
  const memory_rates last = stage_of(tests::tiny(), two, rule, 1, true);
  EXPECT_EQ(last.fixed, (144 + 40) * 16 / 4 + 2 * 40);
  EXPECT_EQ(last.backward_token, 4 * 10 + 2 * 2);
  costs::memory full = rule;
  full.recompute = recompute::full;
  const memory_rates again = stage_of(tests::tiny(), two, full, 1, true);
  EXPECT_EQ(again.fixed, (144 + 40) * 16 / 4 + 5 * 144);
  EXPECT_EQ(again.backward_token, 104 + 2 * 2);
}

TEST(Memory, SharesTokensOverContextRanks) {
  const memory_rates alone = tiny({.recompute = recompute::full}, {.stages = 2}, true);
  const memory_rates shared = tiny({.recompute = recompute::full}, {.stages = 2, .context = 2}, true);
  EXPECT_EQ(shared.live_token, alone.live_token / 2);
  EXPECT_EQ(shared.gradient_token, alone.gradient_token / 2);
  EXPECT_EQ(shared.forward_token, alone.forward_token / 2);
  EXPECT_EQ(shared.backward_token, alone.backward_token / 2);
}

// SlimPipe's evaluation (arXiv:2504.14519), its planner's tables to the last digit printed; 256K tokens.

TEST(SlimPipeTables, GiveWeightsAndGradients) {
  EXPECT_NEAR(weights_and_gradients(tests::slimpipe_13b(), 8, 1) / gib, 9.32, 0.005);
  EXPECT_NEAR(weights_and_gradients(tests::slimpipe_13b(), 8, 4) / gib, 2.67, 0.005);
  EXPECT_NEAR(weights_and_gradients(tests::slimpipe_13b(), 8, 8) / gib, 1.57, 0.005);
  EXPECT_NEAR(weights_and_gradients(tests::slimpipe_70b(), 8, 8) / gib, 6.71, 0.005);
  EXPECT_NEAR(weights_and_gradients(tests::slimpipe_70b(), 8, 16) / gib, 3.72, 0.005);
}

TEST(SlimPipeTables, GiveLogits) {
  const auto logits = [](int context) {
    return stage_of(tests::slimpipe_13b(), {.tensor = 8, .context = context}, {}, 1, true).forward_token * 262144 / gib;
  };
  EXPECT_NEAR(logits(4), 3.914, 0.0005);
  EXPECT_NEAR(logits(8), 1.957, 0.0005);
  EXPECT_NEAR(logits(16), 0.979, 0.0005);
}

/// Activations of the first stage: n v slices of a sequence on p v parts of the model and 2 (p - 1) of the next,
/// M_a / (t c p) (1 + 2 (p - 1) / (n v)).
double slimpipe_activations(const costs::model_shape& m, int tensor, int context, int stages, int slices, int chunks,
                            double length = 262144) {
  const memory_rates r = stage_of(m, {.stages = stages, .tensor = tensor, .context = context}, {}, 1, false);
  return r.live_token * length * (1 + 2 * (stages - 1.0) / (slices * chunks)) / gib;
}

TEST(SlimPipeTables, GiveActivations) {
  EXPECT_NEAR(slimpipe_activations(tests::slimpipe_13b(), 8, 1, 8, 16, 5), 29.56, 0.005);
  EXPECT_NEAR(slimpipe_activations(tests::slimpipe_13b(), 8, 1, 8, 32, 5), 27.36, 0.005);
  EXPECT_NEAR(slimpipe_activations(tests::slimpipe_13b(), 8, 2, 4, 8, 10), 27.04, 0.005);
  EXPECT_NEAR(slimpipe_activations(tests::slimpipe_13b(), 8, 2, 2, 4, 20), 51.57, 0.005);
  EXPECT_NEAR(slimpipe_activations(tests::slimpipe_70b(), 8, 2, 8, 16, 10), 45.54, 0.005);
  EXPECT_NEAR(slimpipe_activations(tests::slimpipe_70b(), 8, 1, 16, 64, 5), 45.80, 0.005);
  EXPECT_NEAR(slimpipe_activations(slimpipe_150b(), 8, 1, 16, 16, 6, 65536), 20.92, 0.005);
  EXPECT_NEAR(slimpipe_activations(slimpipe_150b(), 8, 1, 16, 16, 6, 131072), 41.84, 0.005);
}

// p (1 + (p - 1) / (p v)) sequences' worth of a stage.
TEST(SlimPipeTables, GiveActivationsOfInterleaved1F1B) {
  const memory_rates r = stage_of(tests::slimpipe_13b(), {.stages = 4, .tensor = 4, .context = 8}, {}, 1, false);
  EXPECT_NEAR(r.live_token * 4 * 262144 * (1 + 3.0 / (4 * 10)) / gib, 54.09, 0.005);
}

}  // namespace
}  // namespace slimpack::memory_test
