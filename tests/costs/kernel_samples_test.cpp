#include <slimpack/costs/kernels/kernel_samples.hpp>

#include <gtest/gtest.h>

namespace slimpack::kernel_samples_test {
namespace {

using costs::attention_sample;
using costs::layer_sample;
using costs::product_sample;

TEST(AttentionSample, IsOfOneCausalForwardWhereItsTableSaysNoMore) {
  const attention_sample s;
  EXPECT_EQ(s.batch, 1);
  EXPECT_TRUE(s.causal);
  EXPECT_FALSE(s.deterministic);
  EXPECT_FALSE(s.backward);
}

TEST(AttentionSample, OfADeterministicBackwardIsOfAnotherKernel) {
  attention_sample s{.gpu = "H100", .kernel = "flash", .queries = {128}, .keys = {512}, .heads = 8, .forward = {1e-3}};
  const attention_sample usual = s;
  EXPECT_EQ(s, usual);
  s.deterministic = true;
  EXPECT_NE(s, usual);
}

TEST(ProductSample, OfExchangedSidesIsAnother) {
  EXPECT_EQ((product_sample{"H100", 128, 64, 32, {1e-6}}), (product_sample{"H100", 128, 64, 32, {1e-6}}));
  EXPECT_NE((product_sample{"H100", 128, 64, 32, {1e-6}}), (product_sample{"H100", 64, 128, 32, {1e-6}}));
}

TEST(LayerSample, HasNoTimeOfWhatWasNotMeasured) {
  const layer_sample s;
  for (const auto& time : {s.input_layernorm, s.attn_pre_proj, s.attn_rope, s.attn_post_proj,
                           s.post_attention_layernorm, s.mlp_up_proj, s.mlp_act, s.mlp_down_proj, s.add, s.emb})
    EXPECT_FALSE(time);
  layer_sample measured;
  measured.add = seconds{};
  EXPECT_NE(measured, s);  // a time of zero is one that was measured
}

}  // namespace
}  // namespace slimpack::kernel_samples_test
