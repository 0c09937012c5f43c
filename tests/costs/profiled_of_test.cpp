#include <slimpack/costs/profiled_of.hpp>

#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/testing/cost_model_laws.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include "../solvers/batches.hpp"
#include "models.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace slimpack::profiled_of_test {
namespace {

using costs::profiled;
using costs::stage_options;

/// A GPU of which nothing was measured.
struct bare {
  costs::gpu device{costs::gpus::h100()};
  costs::kernel_times kernels{costs::wave_model(device)};
  costs::network net{device};

  [[nodiscard]] profiled cost(const costs::model_shape& m, const shape& on, stage_options with = {},
                              std::span<const costs::layer_sample> layers = {}) const {
    if (with.longest > tokens{65536}) with.longest = {65536};
    return costs::profiled_of(m, on, kernels, net, with, layers).value();
  }
};

/// Three layers on three stages: the middle part is one layer, without embedding and logits.
costs::model_shape three_layers() {
  costs::model_shape m = tests::llama_3_1_8b();
  m.layers = 3;
  return m;
}

seconds pack_of(const profiled& cost, tokens length, pass p, int part) {
  const slice whole{{0}, {0}, length};
  return pack_time(cost, std::span(&whole, 1), p, part);
}

TEST(ProfiledOf, ProductsHaveTheFlopsOfTheirLayer) {
  for (const costs::model_shape& m : {tests::llama_3_1_8b(), tests::mixtral_8x7b(), tests::deepseek_v3()})
    for (const int tensor : {1, 2, 4})
      for (const bool moe : {false, true}) {
        if (moe && m.experts == 0) continue;
        double flops = 0;
        for (const detail::layer_product& p : detail::products_of(m, moe, tensor))
          flops += 2 * p.rows * static_cast<double>(p.n) * static_cast<double>(p.k);
        EXPECT_NEAR(flops / costs::layer::of(m, moe, tensor).linear_flops, 1, 1e-12) << m.name << ", tensor " << tensor;
      }
}

TEST(ProfiledOf, ObeysTheLawsOfCostModels) {
  const bare gpu;
  for (const costs::model_shape& m : {tests::llama_3_1_8b(), tests::mixtral_8x7b(), tests::deepseek_v3()}) {
    const shape on{.stages = 2, .tensor = 2, .context = 2};
    const testing::report found = testing::cost_model_laws(gpu.cost(m, on), 2, {.analytic = false});
    EXPECT_TRUE(found) << m.name << "\n" << found;
  }
}

TEST(ProfiledOf, PartsAreTheSumOfTheirLayers) {
  const bare gpu;
  costs::model_shape m = tests::llama_3_1_8b();
  m.layers = 7;
  const profiled cost = gpu.cost(m, {.stages = 4}, {.layers = {1, 1, 4, 1}});
  for (const pass p : {pass::forward, pass::backward})
    EXPECT_NEAR(pack_of(cost, {4096}, p, 2) / pack_of(cost, {4096}, p, 1), 4, 1e-9);
}

TEST(ProfiledOf, ExpertsTrainAtTheRateOfTheirProductsInLargePacks) {
  costs::model_shape m = tests::deepseek_v3();
  m.layers = 3, m.dense_layers = 0;
  const profiled cost = bare{}.cost(m, {.stages = 3, .tensor = 8});
  const double ratio = pack_of(cost, {49152}, pass::backward, 1) / pack_of(cost, {49152}, pass::forward, 1);
  EXPECT_GT(ratio, 1.5);
  EXPECT_LT(ratio, 3);
}

TEST(ProfiledOf, SmallPacksStillReadEveryExpert) {
  costs::model_shape m = tests::deepseek_v3();
  m.layers = 3, m.dense_layers = 0;
  const bare gpu;
  const profiled cost = gpu.cost(m, {.stages = 3, .tensor = 8}, {.memory_share = 0.5});
  // 256 experts of 3 x 7168 x 256 elements, 2 bytes each, at half of the bandwidth
  EXPECT_GT(pack_of(cost, {64}, pass::forward, 1).value,
            256 * 3.0 * 7168 * 256 * 2 / (0.5 * gpu.device.memory_bandwidth));
}

TEST(ProfiledOf, DenseAttentionKeepsItsScores) {
  costs::saved_tensors scores = costs::saved_tensors::flash_attention();
  scores.layer.push_back({.name = "scores", .pairs = 2});
  const profiled cost = bare{}.cost(three_layers(), {.stages = 3, .tensor = 4}, {.tensors = scores});
  EXPECT_EQ(kept_of(cost, {{0}, {1000}, {24}}, 1), bytes{2.0 * 8 * 24 * 1024});  // 8 heads on a rank, 24 x 1024 pairs
}

TEST(ProfiledOf, LogitsAndEmbeddingCostTheirPartsMore) {
  const profiled cost = bare{}.cost(three_layers(), {.stages = 3});
  const seconds plain = pack_of(cost, {4096}, pass::forward, 1);
  EXPECT_GT(pack_of(cost, {4096}, pass::forward, 0), plain);
  EXPECT_GT(pack_of(cost, {4096}, pass::forward, 2), plain);
}

TEST(ProfiledOf, FullRecomputeAddsOneForward) {
  const bare gpu;
  const shape on{.stages = 3, .tensor = 2};
  const profiled kept = gpu.cost(three_layers(), on);
  const profiled again = gpu.cost(three_layers(), on, {.recompute = costs::recompute::full});
  const seconds added = pack_of(again, {8192}, pass::backward, 1) - pack_of(kept, {8192}, pass::backward, 1);
  EXPECT_NEAR(added / pack_of(kept, {8192}, pass::forward, 1), 1, 1e-9);
}

TEST(ProfiledOf, RecomputedAttentionAddsItsForward) {
  const bare gpu;
  const shape on{.stages = 3};
  const profiled kept = gpu.cost(three_layers(), on);
  const profiled again = gpu.cost(three_layers(), on, {.recompute = costs::recompute::attention});
  const seconds added = pack_of(again, {8192}, pass::backward, 1) - pack_of(kept, {8192}, pass::backward, 1);
  const costs::model_shape m = three_layers();
  const seconds forward =
      gpu.kernels.attention(pass::forward, {8192}, {8192}, m.heads, m.kv_heads, static_cast<int>(m.head_dim));
  EXPECT_NEAR(added / forward, 1, 1e-9);
}

TEST(ProfiledOf, UnfusedAttentionIsItsFlopsAndItsBytes) {
  bare gpu;
  gpu.device.memory_bandwidth = 1e12, gpu.device.peak_bf16_flops = 1e15, gpu.device.gemm_efficiency = 0.5;
  gpu.net = costs::network(gpu.device);
  const costs::model_shape m = three_layers();  // 32 heads of 128
  const profiled kept = gpu.cost(m, {.stages = 3}, {.attention = costs::attention_kind::unfused, .memory_share = 0.5});
  const profiled again = gpu.cost(m, {.stages = 3}, {.recompute = costs::recompute::attention,
                                                     .attention = costs::attention_kind::unfused, .memory_share = 0.5});
  // Forward of 32 x 4096 x 4096 pairs: 4 x 128 flops each at 5e14 a second, 8 bytes each at 5e11 a second.
  const double pairs = 32.0 * 4096 * 4096;
  EXPECT_NEAR((pack_of(again, {4096}, pass::backward, 1) - pack_of(kept, {4096}, pass::backward, 1)).value,
              pairs * 4 * 128 / 5e14 + pairs * 8 / 5e11, 1e-9);
}

TEST(ProfiledOf, TrafficThatBackwardDoesNotHideCostsMore) {
  const bare gpu;
  const shape on{.stages = 3, .tensor = 8};
  const seconds hidden = pack_of(gpu.cost(three_layers(), on), {8192}, pass::backward, 1);
  const seconds waited =
      pack_of(gpu.cost(three_layers(), on, {.hides_tensor_traffic = false}), {8192}, pass::backward, 1);
  EXPECT_GT(waited, hidden);
}

TEST(ProfiledOf, MessagesThatAreWaitedForCountInThePacks) {
  const bare gpu;
  const shape on{.stages = 3, .tensor = 8};
  const profiled beside = gpu.cost(three_layers(), on);
  const profiled waits = gpu.cost(three_layers(), on, {.messages = costs::messages::waited_for});
  EXPECT_EQ(message_time(waits, {8192}, pass::forward, 0), seconds{});
  const seconds message = message_time(beside, {8192}, pass::forward, 0);
  EXPECT_GT(message, seconds{});
  EXPECT_NEAR((pack_of(waits, {8192}, pass::forward, 1) - pack_of(beside, {8192}, pass::forward, 1)).value,
              message.value, 1e-12);
}

TEST(ProfiledOf, AHopReplacesTheNetworksMessages) {
  const profiled cost = bare{}.cost(three_layers(), {.stages = 3}, {.hop = seconds{0.5}});
  EXPECT_EQ(message_time(cost, {8192}, pass::backward, 2), seconds{0.5});
}

TEST(ProfiledOf, ContextParallelRanksShareLongSequencesEvenly) {
  const bare gpu;
  const costs::model_shape m = three_layers();
  const seconds alone = pack_of(gpu.cost(m, {.stages = 3}), {65536}, pass::forward, 1);
  const seconds shared = pack_of(gpu.cost(m, {.stages = 3, .context = 4}), {65536}, pass::forward, 1);
  EXPECT_NEAR(shared / alone, 0.25, 0.01);
}

TEST(ProfiledOf, AStepOnOneGpuIsItsOptimizer) {
  const bare gpu;
  const costs::model_shape m = tests::llama_3_1_8b();
  // 52 bytes of each parameter at 85 % of the bandwidth; nobody to reduce with
  EXPECT_NEAR(reduce_time_of(gpu.cost(m, {})).value,
              52 * costs::parameters(m) / (0.85 * gpu.device.memory_bandwidth), 1e-9);
}

TEST(ProfiledOf, AMeasuredLayerReplacesItsKernels) {
  const costs::model_shape m = three_layers();
  const auto measured = [&](std::int64_t size, double scale) {
    const seconds t{scale};
    return costs::layer_sample{.hidden = m.hidden, .ffn = m.intermediate, .q_heads = m.heads, .kv_heads = m.kv_heads,
                               .tensor = 1, .tokens = {size}, .input_layernorm = t, .attn_pre_proj = t, .attn_rope = t,
                               .attn_post_proj = t, .post_attention_layernorm = t, .mlp_up_proj = t, .mlp_act = t,
                               .mlp_down_proj = t, .add = t};
  };
  const std::vector<costs::layer_sample> layers{measured(2048, 0.5), measured(8192, 1), measured(32768, 2)};
  const bare gpu;
  const profiled cost = gpu.cost(m, {.stages = 3}, {.launch = {}}, layers);
  const seconds attention =
      gpu.kernels.attention(pass::forward, {8192}, {8192}, m.heads, m.kv_heads, static_cast<int>(m.head_dim));
  // Four products, two norms, positions, activation, and the addition twice: 10 s
  EXPECT_NEAR((pack_of(cost, {8192}, pass::forward, 1) - attention).value, 10, 1e-6);
  EXPECT_GT(cost.sources().share(costs::origin::measured), 0.2);
  EXPECT_GT(cost.sources().share(costs::origin::derived), 0.2);  // its backward
}

TEST(ProfiledOf, TablesReachAnyLongestSequence) {
  const bare gpu;
  for (const std::int64_t longest : {1, 64, 100, 5000}) {
    const profiled cost = gpu.cost(three_layers(), {.stages = 3}, {.longest = {longest}});
    const profiled wider = gpu.cost(three_layers(), {.stages = 3});
    EXPECT_NEAR(pack_of(cost, {longest}, pass::forward, 1) / pack_of(wider, {longest}, pass::forward, 1), 1, 0.05)
        << longest;
  }
}

TEST(ProfiledOf, SaysThatNothingWasMeasured) {
  const profiled cost = bare{}.cost(three_layers(), {.stages = 3});
  EXPECT_EQ(cost.sources().share(costs::origin::modelled), 1);
}

TEST(ProfiledOf, ThinSlicesAreSlowerAloneThanInCompany) {
  const profiled cost = bare{}.cost(three_layers(), {.stages = 3, .tensor = 8});
  std::vector<slice> pack;
  for (std::uint32_t i = 0; i < 32; ++i) pack.push_back({{i}, {32768}, {256}});
  const seconds together = pack_time(cost, std::span<const slice>(pack), pass::forward, 1);
  const seconds one = pack_time(cost, std::span<const slice>(pack).first(1), pass::forward, 1);
  EXPECT_LT(together.value, 32 * one.value * 0.5);
}

TEST(ProfiledOf, PlansHoldTheirBounds) {
  const costs::model_shape m = tests::llama_3_1_8b();
  const shape on{.stages = 4, .tensor = 2};
  const profiled cost = bare{}.cost(m, on);
  const plan p = planner<slicers::equal_cost, profiled>{on, {}, cost}(
                     tests::lengths_of({40000, 300, 9000, 2000, 128, 700, 20000, 1})).value();
  EXPECT_LE(p.efficiency, 1);
  const testing::report found = testing::plan_laws(p, cost);
  EXPECT_TRUE(found) << found;
}

TEST(ProfiledOf, RefusesShapesThatTheModelCannotTake) {
  const bare gpu;
  const auto says = [&](const shape& on, stage_options with = {}) {
    const result<profiled> made = costs::profiled_of(three_layers(), on, gpu.kernels, gpu.net, with);
    return made ? std::string("no error") : made.error().detail;
  };
  EXPECT_EQ(says({.tensor = 5}),
            "tensor parallelism of 5 does not divide the 32 query heads of " + three_layers().name);
  EXPECT_EQ(says({.stages = 4}), "4 stages x 1 chunks exceed the 3 layers of " + three_layers().name);
  EXPECT_EQ(says({.stages = 2}, {.layers = {1, 1}}), "layers per part must be 2 counts of at least 1 that add up to 3");
}

}  // namespace
}  // namespace slimpack::profiled_of_test
