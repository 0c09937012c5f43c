#include <slimpack/costs/profiled_of.hpp>

#include <slimpack/costs/model/detail/layer_products.hpp>
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/transformer.hpp>
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

TEST(ProfiledOf, TellsWhatIsComputedAgainFromWhatIsUseful) {
  const bare gpu;
  const shape on{.stages = 2, .tensor = 2};
  const slice whole{{0}, {0}, {8192}};
  const profiled none = gpu.cost(tests::llama_3_1_8b(), on);
  for (const costs::recompute again : std::span(costs::all_recompute).subspan(1)) {
    const profiled cost = gpu.cost(tests::llama_3_1_8b(), on, {.recompute = again});
    for (const int part : {0, 1}) {
      EXPECT_NEAR(cost.useful(whole, pass::backward, part) / none.useful(whole, pass::backward, part), 1, 0.03) << part;
      EXPECT_LT(cost.useful(whole, pass::backward, part), cost.least(whole, pass::backward, part)) << part;
      EXPECT_EQ(cost.useful(whole, pass::forward, part), cost.least(whole, pass::forward, part)) << part;
    }
  }
}

TEST(ProfiledOf, TellsCollectivesFromTheRestOfUsefulWork) {
  const bare gpu;
  const slice whole{{0}, {0}, {8192}};
  const shape on{.stages = 2, .tensor = 4};
  const profiled cost = gpu.cost(tests::llama_3_1_8b(), on);
  const profiled full = gpu.cost(tests::llama_3_1_8b(), on, {.recompute = costs::recompute::full});
  const costs::transformer line = costs::transformer::make(tests::llama_3_1_8b(), costs::gpus::h100(), on).value();
  for (const pass p : {pass::forward, pass::backward})
    for (const int part : {0, 1}) {
      EXPECT_NEAR(cost.collectives(whole, p, part) / line.collectives(whole, p, part), 1, 0.1) << name_of(p) << part;
      EXPECT_NEAR(full.collectives(whole, p, part) / cost.collectives(whole, p, part), 1, 0.03) << name_of(p) << part;
    }
  EXPECT_EQ(gpu.cost(tests::llama_3_1_8b(), {.stages = 2}).collectives(whole, pass::forward, 0), seconds{});
}

// A rank of 8 that divide experts runs as many flops as before, times the imbalance of its routed rows.
TEST(ProfiledOf, ProductsOfDividedExpertsHaveTheFlopsOfTheirLayer) {
  for (const costs::model_shape& m : {tests::mixtral_8x7b(), tests::deepseek_v3()})
    for (const int tensor : {1, 2, 4})
      for (const double imbalance : {1.0, 1.25}) {
        double flops = 0, grouped = 0;
        for (const detail::layer_product& p : detail::products_of(m, true, tensor, 8, imbalance)) {
          flops += 2 * p.rows * static_cast<double>(p.n) * static_cast<double>(p.k);
          grouped += p.grouped;
        }
        const costs::layer own = costs::layer::of(m, true, tensor, 8, imbalance);
        EXPECT_NEAR(flops / own.linear_flops, 1, 1e-12) << m.name << ", tensor " << tensor;
        EXPECT_EQ(grouped, own.expert_weights) << "each expert of the rank is read";
      }
}

/// One layer with experts on the middle one of three stages, over 8 replicas of a node.
struct divided {
  costs::model_shape model{[] {
    costs::model_shape m = tests::mixtral_8x7b();
    m.layers = 3;
    return m;
  }()};
  [[nodiscard]] seconds pack(int expert, costs::routing how, tokens size = {8192}, pass p = pass::forward) const {
    return pack_of(bare{}.cost(model, {.stages = 3, .replicas = 8, .expert = expert}, {.routing = std::move(how)}),
                   size, p, 1);
  }
};

// What is not hidden takes 1.3 times as long as alone: two all-to-alls of 8192 x 4096 x 2 x 2 bytes over 8 GPUs.
TEST(ProfiledOf, WaitsForWhatIsNotHiddenOfAllToAlls) {
  const divided layer;
  const seconds alone = bare{}.net.all_to_all({8, 1, 1}, {8192 * 4096.0 * 2 * 2}) * 2;
  for (const pass p : {pass::forward, pass::backward}) {
    const seconds hidden = layer.pack(8, {.imbalance = 1, .overlap = 1}, {8192}, p);
    EXPECT_NEAR((layer.pack(8, {.imbalance = 1}, {8192}, p) - hidden) / (alone * 1.3), 1, 1e-9);
    EXPECT_NEAR((layer.pack(8, {.imbalance = 1, .overlap = 0.75}, {8192}, p) - hidden) / (alone * (0.25 * 1.3)), 1,
                1e-9);
  }
}

// A small pack still reads every expert: with an eighth of them, less. Where packs are large, rows are put in order
// beside.
TEST(ProfiledOf, FewerExpertsOnARankServeSmallPacks) {
  const divided layer;
  EXPECT_LT(layer.pack(8, {.imbalance = 1}, {64}), layer.pack(1, {}, {64}) * 0.5);
  EXPECT_GT(layer.pack(8, {.imbalance = 1, .overlap = 1}), layer.pack(1, {}));
  EXPECT_LT(layer.pack(8, {.imbalance = 1, .overlap = 1}), layer.pack(1, {}) * 1.2);
}

// The middle layer's factor counts on the middle stage, and no other.
TEST(ProfiledOf, TakesAFactorOfImbalanceForEachLayer) {
  const divided layer;
  EXPECT_EQ(layer.pack(8, {.imbalances = {9, 1.25, 9}}), layer.pack(8, {.imbalance = 1.25}));
  EXPECT_GT(layer.pack(8, {.imbalance = 1.25}), layer.pack(8, {.imbalance = 1}) * 1.1);
  EXPECT_LT(layer.pack(8, {.imbalance = 1.25}), layer.pack(8, {.imbalance = 1}) * 1.25);
}

// 16 replicas: what is divided over 8 has two copies. Two experts' worth less is summed over 16, the rest over 2.
TEST(ProfiledOf, SumsGradientsOfExpertsOverTheirCopies) {
  const bare gpu;
  const costs::model_shape m = divided{}.model;
  const shape on{.stages = 3, .replicas = 16, .expert = 8};
  const double dense = 41943040 + 8 * 4096 + 32000 * 4096.0, expert = 176160768;
  const costs::traffic wires(gpu.net, on, {});
  const double memory = 0.85 * gpu.device.memory_bandwidth;
  const seconds by_hand = wires.gradients({4 * dense}) + wires.parameters({2 * dense}) +
                          seconds{52 * dense / 16 / memory} + wires.expert_gradients({4 * expert}) +
                          wires.expert_parameters({2 * expert}) + seconds{52 * expert / 2 / memory};
  EXPECT_NEAR(gpu.cost(m, on, {.reduction = costs::reduction::exposed}).reduce_time() / by_hand, 1, 1e-12);
}

// Beside the work: the optimizer alone follows it, and the buckets of the heaviest part, an embedding and a layer of
// 218 million weights, take what all of it takes at once.
TEST(ProfiledOf, ReducesGradientsBesideTheWork) {
  const bare gpu;
  const shape on{.stages = 3, .replicas = 4};
  const costs::model_shape m = three_layers();
  const profiled beside = gpu.cost(m, on), after = gpu.cost(m, on, {.reduction = costs::reduction::exposed});
  ASSERT_EQ(beside.gradient_buckets(0).size(), 2u);
  EXPECT_TRUE(after.gradient_buckets(0).empty());
  seconds all = beside.reduce_time();
  for (const gradient_bucket& b : beside.gradient_buckets(0)) all += b.scatter + b.gather;
  EXPECT_NEAR(all / after.reduce_time(), 1, 0.01);
  EXPECT_LT(beside.reduce_time(), after.reduce_time() * 0.1);
  EXPECT_TRUE(gpu.cost(m, {.stages = 3}).gradient_buckets(0).empty());
}

TEST(ProfiledOf, ObeysTheLawsOfCostModelsWhereRanksDivideExperts) {
  const bare gpu;
  for (const costs::model_shape& m : {tests::mixtral_8x7b(), tests::deepseek_v3()}) {
    const shape on{.stages = 2, .replicas = 2, .tensor = 2, .context = 2, .expert = 8};
    const testing::report found =
        testing::cost_model_laws(gpu.cost(m, on, {.routing = {.overlap = 0.5, .nodes = 2}}), 2, {.analytic = false});
    EXPECT_TRUE(found) << m.name << "\n" << found;
  }
}

TEST(ProfiledOf, RefusesExpertRanksThatDivideNothing) {
  const bare gpu;
  const auto refusal = [&](const costs::model_shape& m, const shape& on) {
    return costs::profiled_of(m, on, gpu.kernels, gpu.net).error().detail;
  };
  EXPECT_EQ(refusal(tests::llama_3_1_8b(), {.replicas = 2, .expert = 2}),
            "expert parallelism of 2: llama-3.1-8b has no experts");
  EXPECT_EQ(refusal(tests::mixtral_8x7b(), {.replicas = 16, .expert = 16}),
            "expert parallelism of 16 does not divide the 8 experts of mixtral-8x7b");
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

// Light: two norms, which read 2 bytes an element twice and write them, and the product, which reads 2 and writes one,
// at half of the memory's bandwidth; on two tensor-parallel ranks each half of it. Selective: gate and up besides.
// Neither residual additions nor positions.
TEST(ProfiledOf, LightRecomputeAddsNormsAndTheProductAndSelectiveTheUpProjections) {
  const bare gpu;
  for (const int tensor : {1, 2}) {
    const shape on{.stages = 3, .tensor = tensor};
    const auto added = [&](costs::recompute what) {
      return pack_of(gpu.cost(three_layers(), on, {.recompute = what}), {8192}, pass::backward, 1) -
             pack_of(gpu.cost(three_layers(), on), {8192}, pass::backward, 1);
    };
    const double h = 4096, f = 14336;
    const double bytes = 8192 * (2 * (2 + 1) * 2 * h + 3 * 2 * f) / tensor;
    const seconds light{bytes / (0.5 * gpu.device.memory_bandwidth)};
    EXPECT_NEAR(added(costs::recompute::light) / light, 1, 1e-9);
    const seconds up = gpu.kernels.product(8192, 2 * 14336 / tensor, 4096);
    EXPECT_NEAR(added(costs::recompute::selective) / (light + up), 1, 1e-9);
  }
}

// Two additions of 6 bytes an element at .85 of the bandwidth, and positions of 4 bytes an element of 32 + 8 heads.
TEST(ProfiledOf, RecomputationThatRepeatsAdditionsHasTheirBytes) {
  const bare gpu;
  const auto time = [&](bool repeats) {
    return pack_of(
        gpu.cost(three_layers(), {.stages = 3}, {.recompute = costs::recompute::light, .repeats_additions = repeats}),
        {8192}, pass::backward, 1);
  };
  const double streamed = 8192 * 2 * 6.0 * 4096, by_row = 8192 * 4 * (4096 + 1024.0);
  EXPECT_NEAR((time(true) - time(false)).value, (streamed / 0.85 + by_row / 0.5) / gpu.device.memory_bandwidth, 1e-9);
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
  const profiled again = gpu.cost(
      m, {.stages = 3},
      {.recompute = costs::recompute::attention, .attention = costs::attention_kind::unfused, .memory_share = 0.5});
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
  // slowed down like all communication that compute waits for
  EXPECT_NEAR((pack_of(waits, {8192}, pass::forward, 1) - pack_of(beside, {8192}, pass::forward, 1)).value,
              stage_options{}.slowdown.exposed * message.value, 1e-12);
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
  EXPECT_NEAR(reduce_time_of(gpu.cost(m, {})).value, 52 * costs::parameters(m) / (0.85 * gpu.device.memory_bandwidth),
              1e-9);
}

TEST(ProfiledOf, AMeasuredLayerReplacesItsKernels) {
  const costs::model_shape m = three_layers();
  const auto measured = [&](std::int64_t size, double scale) {
    const seconds t{scale};
    return costs::layer_sample{.hidden = m.hidden,
                               .ffn = m.intermediate,
                               .q_heads = m.heads,
                               .kv_heads = m.kv_heads,
                               .tensor = 1,
                               .tokens = {size},
                               .input_layernorm = t,
                               .attn_pre_proj = t,
                               .attn_rope = t,
                               .attn_post_proj = t,
                               .post_attention_layernorm = t,
                               .mlp_up_proj = t,
                               .mlp_act = t,
                               .mlp_down_proj = t,
                               .add = t};
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

TEST(ProfiledOf, AddingAPacksGradientsMovesTheirBytesOnce) {
  bare gpu;
  gpu.device.memory_bandwidth = 1e12;
  gpu.net = costs::network(gpu.device);
  const costs::model_shape m = three_layers();
  const profiled fused = gpu.cost(m, {.stages = 3, .tensor = 2}, {.memory_share = 0.5});
  const profiled apart = gpu.cost(m, {.stages = 3, .tensor = 2}, {.memory_share = 0.5, .accumulation_traffic = 10});
  // 10 bytes of each parameter of a rank at 5e11 a second, however long the pack; the first part has an embedding, too
  const double of_layer = 10 * costs::layer::of(m, false, 2).weights / 5e11;
  const double of_embedding = 10.0 * 128256 * 4096 / 2 / 5e11;
  for (const std::int64_t length : {64, 1024, 8192}) {
    EXPECT_EQ(pack_of(apart, {length}, pass::forward, 1), pack_of(fused, {length}, pass::forward, 1));
    for (const int part : {0, 1}) {
      const seconds added =
          pack_of(apart, {length}, pass::backward, part) - pack_of(fused, {length}, pass::backward, part);
      EXPECT_NEAR(added.value, of_layer + (part == 0 ? of_embedding : 0), 1e-12) << length << " tokens, part " << part;
    }
  }
}

TEST(ProfiledOf, CastsMoveTheOperandsOfEveryProduct) {
  bare gpu;
  gpu.device.memory_bandwidth = 1e12;
  gpu.net = costs::network(gpu.device);
  const costs::model_shape m = three_layers();
  const profiled fused = gpu.cost(m, {.stages = 3}, {.memory_share = 0.5});
  const profiled apart = gpu.cost(m, {.stages = 3}, {.memory_share = 0.5, .cast_bytes = 5});
  // Inputs of 4096 (q, k, v), 4096 (output), 4096 (gate, up) and 14336 (down), gradients of 6144, 4096, 28672 and 4096
  // elements a token, and the weights, 5 bytes each at 5e11 a second
  const double weights = costs::layer::of(m, false, 1).weights;
  EXPECT_NEAR((pack_of(apart, {8192}, pass::forward, 1) - pack_of(fused, {8192}, pass::forward, 1)).value,
              5 * (8192.0 * 26624 + weights) / 5e11, 1e-12);
  EXPECT_NEAR((pack_of(apart, {8192}, pass::backward, 1) - pack_of(fused, {8192}, pass::backward, 1)).value,
              5 * (8192.0 * (26624 + 43008) + weights) / 5e11, 1e-12);
}

TEST(ProfiledOf, NormsReadTheirRowsTwiceUnlessTheyKeepThem) {
  bare gpu;
  gpu.device.memory_bandwidth = 1e12;
  gpu.net = costs::network(gpu.device);
  const costs::model_shape m = three_layers();
  const profiled twice = gpu.cost(m, {.stages = 3}, {.row_share = 0.25});
  const profiled once = gpu.cost(m, {.stages = 3}, {.row_share = 0.25, .norm_reads = 1});
  // Two norms of 4096 elements of 2 bytes read once more forward, their inputs and gradients backward, at 2.5e11 B/s
  EXPECT_NEAR((pack_of(twice, {8192}, pass::forward, 1) - pack_of(once, {8192}, pass::forward, 1)).value,
              8192 * 2 * 4096 * 2 / 2.5e11, 1e-12);
  EXPECT_NEAR((pack_of(twice, {8192}, pass::backward, 1) - pack_of(once, {8192}, pass::backward, 1)).value,
              8192 * 2 * 2 * 4096 * 2 / 2.5e11, 1e-12);
}

TEST(ProfiledOf, KernelsThatGoRowByRowHaveAShareOfTheirOwn) {
  bare gpu;
  gpu.device.memory_bandwidth = 1e12;
  gpu.net = costs::network(gpu.device);
  const costs::model_shape m = three_layers();
  const profiled fast = gpu.cost(m, {.stages = 3}, {.row_share = 1, .norm_reads = 1});
  const profiled slow = gpu.cost(m, {.stages = 3}, {.row_share = 0.5, .norm_reads = 1});
  // A token's norms, 2 x 4 x 4096 bytes; positions of 4096 query and 1024 key elements, 4 x 5120; gate, up and their
  // product, 3 x 2 x 14336: at twice the time
  EXPECT_NEAR((pack_of(slow, {8192}, pass::forward, 1) - pack_of(fast, {8192}, pass::forward, 1)).value,
              8192 * (8 * 4096 + 4 * 5120 + 6 * 14336) / 1e12, 1e-12);
}

/// A layer twice as wide, as it would be measured where its products take `products` times their kernels' time, and all
/// else a second.
costs::layer_sample other_layer(const bare& gpu, std::int64_t size, double products) {
  const auto product = [&](std::int64_t n, std::int64_t k) { return gpu.kernels.product(size, n, k) * products; };
  const seconds second{1};
  return {.hidden = 8192,
          .ffn = 28672,
          .q_heads = 64,
          .kv_heads = 8,
          .tensor = 1,
          .tokens = {size},
          .input_layernorm = second,
          .attn_pre_proj = product(10240, 8192),
          .attn_rope = second,
          .attn_post_proj = product(8192, 8192),
          .post_attention_layernorm = second,
          .mlp_up_proj = product(57344, 8192),
          .mlp_act = second,
          .mlp_down_proj = product(8192, 28672),
          .add = second};
}

TEST(ProfiledOf, OtherLayersTellByHowMuchKernelsAreSlowerInALayer) {
  const bare gpu;
  const costs::model_shape m = three_layers();
  const std::vector<costs::layer_sample> layers{other_layer(gpu, 4096, 1.5), other_layer(gpu, 8192, 1.25)};
  const costs::layer own = costs::layer::of(m, false, 1);
  const profiled bound = gpu.cost(m, {.stages = 3}, {.memory_share = 1e9, .row_share = 1e9});
  const profiled alone = gpu.cost(m, {.stages = 3});
  const profiled others = gpu.cost(m, {.stages = 3}, {}, layers);
  const seconds attention =
      gpu.kernels.attention(pass::forward, {8192}, {8192}, m.heads, m.kv_heads, static_cast<int>(m.head_dim));
  const seconds launch = stage_options{}.launch;
  const seconds products = pack_of(bound, {8192}, pass::forward, 1) - attention - launch;
  // At 8192 tokens products take 1.25 times as long. The wide layer's 4 s outside its MLP are for twice the width, 2 s
  // inside for its own; of 4096 and 8192 tokens the medians are those of 4096, at twice the time of a token.
  const double inner = own.query + own.kv_elements / 2 + 1.5 * own.feed_forward;
  const double wide = 8192.0 + 1024 + 1.5 * 28672;
  EXPECT_NEAR((pack_of(others, {8192}, pass::forward, 1) - attention - launch).value,
              products.value * 1.25 + 4 * 2 * 0.5 + 2 * 2 * inner / wide, 1e-3);
  EXPECT_GT(pack_of(others, {8192}, pass::forward, 1), pack_of(alone, {8192}, pass::forward, 1));
  EXPECT_GT(others.sources().share(costs::origin::derived), 0.5);
}

TEST(ProfiledOf, OtherLayersSayNothingOfAPlainMlp) {
  const bare gpu;
  costs::model_shape m = three_layers();
  m.gated = false;
  const std::vector<costs::layer_sample> layers{other_layer(gpu, 8192, 2)};
  EXPECT_EQ(pack_of(gpu.cost(m, {.stages = 3}, {}, layers), {8192}, pass::forward, 1),
            pack_of(gpu.cost(m, {.stages = 3}), {8192}, pass::forward, 1));
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
                     tests::lengths_of({40000, 300, 9000, 2000, 128, 700, 20000, 1}))
                     .value();
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
  EXPECT_EQ(says({.stages = 2}, {.layers = {1, 1}}), "layers per part must be 2 counts that add up to 3");
}

TEST(ProfiledOf, TakesTheCallsOfPiecesFromTheTrainer) {
  const bare gpu;
  const profiled free = gpu.cost(three_layers(), {.stages = 3}),
                 called = gpu.cost(three_layers(), {.stages = 3}, {.call = {0.25}});
  EXPECT_EQ(call_overhead_of(free, pass::forward, 1), seconds{});
  EXPECT_EQ(call_overhead_of(called, pass::backward, 2), seconds{0.25});
}

}  // namespace
}  // namespace slimpack::profiled_of_test
