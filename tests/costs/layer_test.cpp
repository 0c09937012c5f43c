#include <slimpack/costs/model/layer.hpp>

#include "models.hpp"

#include <gtest/gtest.h>

namespace slimpack::layer_test {
namespace {

using costs::layer;

// h 4, k 2, f 8:  2 h^2 + 2 h k + 3 h f = 32 + 16 + 96 = 144 weights, two flops each; 4 h = 16 flops a pair.
TEST(Layer, CountsByHand) {
  const layer l = layer::of(tests::tiny(), false, 1);
  EXPECT_EQ(l.weights, 144);
  EXPECT_EQ(l.linear_flops, 288);
  EXPECT_EQ(l.pair_flops, 16);
  EXPECT_EQ(l.up_flops, 2 * 2 * 4 * 8);
}

// Two heads of 2, keys and values of one head, an MLP of 8: halved over two ranks, but for the hidden width of the
// whole model and the one key/value head, which both ranks have.
TEST(Layer, HasTheWidthsOfOneRank) {
  const layer l = layer::of(tests::tiny(), false, 2);
  EXPECT_EQ(l.tensor, 2);
  EXPECT_EQ(l.hidden, 4);
  EXPECT_EQ(l.heads, 1);
  EXPECT_EQ(l.query, 2);
  EXPECT_EQ(l.output, 2);
  EXPECT_EQ(l.kv_elements, 4);
  EXPECT_EQ(l.feed_forward, 4);
  EXPECT_EQ(l.gate, 4);
}

TEST(Layer, IsItsFormulaForPlainAttention) {
  for (const costs::model_shape& m : {tests::llama_3_1_8b(), tests::slimpipe_13b(), tests::slimpipe_70b()}) {
    const auto h = static_cast<double>(m.hidden);
    const auto k = static_cast<double>(m.kv_heads * m.head_dim);
    const auto f = static_cast<double>(m.intermediate);
    for (const int t : {1, 2, 8}) {
      const layer l = layer::of(m, false, t);
      EXPECT_DOUBLE_EQ(l.linear_flops * t, 2 * (2 * h * h + 2 * h * k + 3 * h * f)) << m.name;
      EXPECT_DOUBLE_EQ(l.pair_flops * t, 4 * h) << m.name;
    }
  }
}

// Without a gate: 2 h f for 3 h f.
TEST(Layer, LeavesOutTheGateOfAPlainMlp) {
  costs::model_shape m = tests::tiny();
  m.gated = false;
  const layer l = layer::of(m, false, 1);
  EXPECT_EQ(l.linear_flops, 2 * (32 + 16 + 64));
  EXPECT_EQ(l.up_flops, 2 * 4 * 8);
  EXPECT_EQ(l.gate, 0);
  EXPECT_EQ(l.feed_forward, 8);
}

// One key/value head on two ranks is on both: weights 8 for queries, 8 for the output, 16 for keys and values.
TEST(Layer, ReplicatesKeyValueHeadsOverMoreRanksThanHeads) {
  const layer l = layer::of(tests::tiny(), false, 2);
  EXPECT_EQ(l.weights, 8 + 8 + 16 + 96 / 2);
  EXPECT_EQ(l.kv_elements, 4);
  EXPECT_EQ(l.pair_flops, 16 / 2);
}

// Mixtral: attention 2 h^2 + 2 h k = 41,943,040, router 8 h, each expert 3 h f = 176,160,768; 2 of 8 are active.
TEST(Layer, CountsActiveExpertsInFlopsAndAllInWeights) {
  const layer l = layer::of(tests::mixtral_8x7b(), true, 1);
  EXPECT_EQ(l.weights, 41943040 + 8 * 4096 + 8 * 176160768.0);
  EXPECT_EQ(l.linear_flops, 2 * (41943040 + 8 * 4096 + 2 * 176160768.0));
}

// 4 of 8 ranks' tensor-parallel pairs: a rank has one whole expert, and of the rows the busiest of 8 gets 1.5 times as
// many.
TEST(Layer, HasOneOfEightExpertsWhereRanksDivideThem) {
  for (const int tensor : {1, 2}) {
    const layer l = layer::of(tests::mixtral_8x7b(), true, tensor, 8, 1.5);
    EXPECT_EQ(l.weights, (41943040 + 8 * 4096.0) / tensor);
    EXPECT_EQ(l.expert_weights, 176160768);
    EXPECT_EQ(l.linear_flops, 2 * (41943040 + 8 * 4096 + 1.5 * 2 * 176160768.0) / tensor);
    EXPECT_EQ(l.feed_forward, 1.5 * 2 * 14336 / tensor);
    EXPECT_EQ(l.dispatched, 1.5 * 2 * 4096 / tensor);
  }
  const layer whole = layer::of(tests::deepseek_v3(), true, 1), divided = layer::of(tests::deepseek_v3(), true, 1, 64);
  EXPECT_EQ(divided.weights + 64 * divided.expert_weights, whole.weights);
  EXPECT_EQ(divided.linear_flops, whole.linear_flops);
}

TEST(Layer, IsWholeWithoutExpertRanks) {
  const layer l = layer::of(tests::mixtral_8x7b(), true, 2, 1, 9);
  EXPECT_EQ(l.expert_weights, 0);
  EXPECT_EQ(l.dispatched, 0);
  EXPECT_EQ(l.linear_flops, layer::of(tests::mixtral_8x7b(), true, 2).linear_flops);
  EXPECT_EQ(layer::of(tests::mixtral_8x7b(), false, 1, 8).expert_weights, 0) << "a dense layer has none";
}

// DeepSeek-V3 attention: queries 7168 x 1536 + 1536 x 128 x 192, keys and values 7168 x (512 + 64) + 512 x 128 x (128 +
// 128), output 128 x 128 x 7168; dense MLP 3 x 7168 x 18432. A pair: 128 heads x (192 + 128) x 2 flops.
TEST(Layer, CountsTheProjectionsOfMla) {
  const layer l = layer::of(tests::deepseek_v3(), false, 1);
  EXPECT_EQ(l.weights, 11010048 + 37748736 + 4128768 + 16777216 + 117440512 + 396361728.0);
  EXPECT_EQ(l.pair_flops, 2 * 128 * (192 + 128));
  EXPECT_EQ(l.kv_elements, 128 * (192 + 128));
}

TEST(ModelShape, MakesLayersExpertsAfterTheDenseOnes) {
  const costs::model_shape m = tests::deepseek_v3();
  EXPECT_FALSE(m.is_moe(2));
  EXPECT_TRUE(m.is_moe(3));
  EXPECT_FALSE(tests::llama_3_1_8b().is_moe(31));
  EXPECT_TRUE(tests::mixtral_8x7b().is_moe(0));
}

// Attention and MLP matrices, experts, router and embeddings, no norms or biases; as published to the last digit given.
TEST(Parameters, AreThePublishedCounts) {
  EXPECT_NEAR(costs::parameters(tests::llama_3_1_8b()) / 1e9, 8.03, 0.005);
  EXPECT_NEAR(costs::parameters(tests::mixtral_8x7b()) / 1e9, 46.70, 0.005);
  EXPECT_NEAR(costs::parameters(tests::deepseek_v3()) / 1e9, 671.03, 0.005);
  EXPECT_NEAR(costs::parameters(tests::gpt_3_175b()) / 1e9, 174.56, 0.005);
}

}  // namespace
}  // namespace slimpack::layer_test
