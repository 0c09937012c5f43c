#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/memory/memory.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/io/saved_tensors.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace saved_tensors_test {
namespace {

using slimpack::errc;
using slimpack::costs::layer;
using slimpack::costs::recompute;
using slimpack::costs::saved_tensors;
using slimpack::io::read_saved_tensors;

saved_tensors shipped(const std::string& name) {
  return read_saved_tensors(data("saved_tensors/" + name + ".json")).value();
}

/// The shipped default with one piece of its text replaced.
std::string refusal(const std::string& before, const std::string& after) {
  const scratch s;
  std::string text = content_of(data("saved_tensors/flash_attention.json"));
  EXPECT_NE(text.find(before), std::string::npos);
  const auto file = s.file("table.json", text.replace(text.find(before), before.size(), after));
  return complaint(read_saved_tensors(file), file, errc::invalid_input);
}

TEST(SavedTensorsFile, OfTheDefaultIsTheBuiltInTable) {
  EXPECT_EQ(shipped("flash_attention"), saved_tensors::flash_attention());
}

TEST(SavedTensorsFile, MustHaveEveryKey) {
  const scratch s;
  const auto whole = nlohmann::json::parse(content_of(data("saved_tensors/flash_attention.json")));
  ASSERT_EQ(whole.size(), 6u);
  for (const auto& member : whole.items()) {
    nlohmann::json less = whole;
    less.erase(member.key());
    const auto file = s.file("table.json", less.dump());
    EXPECT_EQ(complaint(read_saved_tensors(file), file, errc::invalid_input), "lacks the key \"" + member.key() + "\"");
  }
  EXPECT_EQ(refusal("\"forward\": 4, ", ""), "logits lacks the key \"forward\"");
}

TEST(SavedTensorsFile, MayHaveNoOtherKey) {
  EXPECT_EQ(refusal("\"hidden\": 2", "\"hiden\": 2"), "layer[0].hiden is not a known key");
  EXPECT_EQ(refusal("\"weight\": 2", "\"weights\": 2"), "states.weights is not a known key");
}

TEST(SavedTensorsFile, IsRefusedForNonsense) {
  EXPECT_EQ(refusal("\"hidden\": 2", "\"hidden\": -2"), "layer[0].hidden is -2, expected a number of at least 0");
  EXPECT_EQ(refusal("\"optimizer\": 12", "\"optimizer\": \"12\""),
            "states.optimizer is \"12\", expected a number of at least 0");
  EXPECT_EQ(refusal("\"optimizer\": 12", "\"optimizer\": 12, \"gathered_weight\": 0"),
            "states.gathered_weight is 0, expected a number above 0 and at most 16");
  EXPECT_EQ(refusal("\"optimizer\": 12", "\"optimizer\": 12, \"gathered_gradient\": 2"),
            "states.gathered_gradient is 2, expected \"gathered_weight\" beside it");
  EXPECT_EQ(
      refusal("\"attention\", \"selective\"", "\"attention\", \"sometimes\""),
      "layer[2].kept[2] is \"sometimes\", expected \"light\", \"attention\", \"selective\", \"full\" or \"prefix\"");
}

TEST(SavedTensorsFile, ThatIsMissingIsUnreadable) {
  EXPECT_EQ(read_saved_tensors(data("saved_tensors/none.json")).error().code, errc::unreadable);
}

/// Korthikanti et al., their 175B model: h 12288, 96 heads, on t tensor-parallel ranks. Bytes of a layer, over s b h.
double korthikanti(int tensor, bool sequence_parallel, recompute again, double s) {
  const double h = 12288;
  const slimpack::costs::model_shape m{.hidden = 12288,
                                       .heads = 96,
                                       .kv_heads = 96,
                                       .head_dim = 128,
                                       .value_dim = 128,
                                       .intermediate = 49152,
                                       .gated = false};
  const layer l = layer::of(m, false, tensor);
  const saved_tensors table = shipped("megatron_2022");
  return (table.token_bytes(l, again, sequence_parallel) + s * table.pair_bytes(l, again)) / h;
}

// Galvatron's first stage of two with a layer each, on 4 replicas: 4096 tokens have 514.6 MiB for every 2048 after
// forward. At the peak there are the layer's bf16 weights and gradients, 202.4e6 x 4 bytes, and the buffer of gathered
// inputs, beside 16 bytes a parameter over the replicas.
TEST(GalvatronTable, HasTheRunningLayersWeightsAndGradientsOnAStageWithoutLogits) {
  const slimpack::costs::model_shape m{.hidden = 4096,
                                       .heads = 32,
                                       .kv_heads = 32,
                                       .head_dim = 128,
                                       .value_dim = 128,
                                       .intermediate = 11008,
                                       .vocabulary = 32000,
                                       .gated = true};
  const slimpack::costs::memory rule{.tensors = shipped("galvatron")};
  const std::vector<layer> layers(1, layer::of(m, false, 1));
  const auto rates = rule.of(m, {.stages = 2, .replicas = 4}, layers, 1, false);
  const double mib = 1024 * 1024;
  EXPECT_NEAR(4096 * rates.live_token / mib, 2 * 514.6, 1);
  EXPECT_DOUBLE_EQ(rates.backward_token, 4 * 4096);
  const double in_layer = 4.0 * 4096 * 4096 + 3.0 * 4096 * 11008;
  EXPECT_DOUBLE_EQ(rates.fixed, (in_layer + 32000 * 4096) * 16 / 4 + in_layer * 4);
}

// Their table 2, with a = 96: 5 a s / h = 80 at s = 2048.
TEST(MegatronTable, GivesEachFormulaOfItsPaper) {
  const double s = 2048;
  for (const int t : {1, 2, 8}) {
    EXPECT_DOUBLE_EQ(korthikanti(t, false, recompute::none, s), 10 + 24.0 / t + 80.0 / t) << t;
    EXPECT_DOUBLE_EQ(korthikanti(t, true, recompute::none, s), 34.0 / t + 80.0 / t) << t;
    EXPECT_DOUBLE_EQ(korthikanti(t, false, recompute::attention, s), 10 + 24.0 / t) << t;
    EXPECT_DOUBLE_EQ(korthikanti(t, true, recompute::attention, s), 34.0 / t) << t;
    EXPECT_DOUBLE_EQ(korthikanti(t, false, recompute::full, s), 2) << t;
    EXPECT_DOUBLE_EQ(korthikanti(t, true, recompute::full, s), 2.0 / t) << t;
  }
}

// Qi et al., table 4: the second stage of 1F1B holds p - 1 packs of b sequences of 1,024 tokens in L layers, each
// 34 + 5 a s / h bytes a token and hidden element, and 16 bytes for each of a layer's 12 h^2 parameters. 6.2B:
// 7 x 3 x 1024 x 4 x 4096 x 74 + 4 x 12 x 4096^2 x 16 = 38.96e9, and 39 GB measured.
TEST(ZeroBubbleTable, IsWithinFourPercentOfWhatItsAuthorsMeasured) {
  struct run {
    int stages, batch, layers, heads;
    std::int64_t hidden;
    double gigabytes;
  };
  for (const run& r : {run{8, 6, 3, 24, 2304, 30},
                       {8, 12, 3, 24, 2304, 57},
                       {8, 3, 4, 32, 4096, 39},
                       {8, 6, 4, 32, 4096, 66},
                       {16, 1, 3, 40, 5120, 32},
                       {16, 2, 3, 40, 5120, 50},
                       {32, 1, 2, 48, 6144, 43},
                       {32, 2, 2, 48, 6144, 72}}) {
    const slimpack::costs::model_shape m{.hidden = r.hidden,
                                         .heads = r.heads,
                                         .kv_heads = r.heads,
                                         .head_dim = r.hidden / r.heads,
                                         .value_dim = r.hidden / r.heads,
                                         .intermediate = 4 * r.hidden,
                                         .gated = false};
    const slimpack::costs::memory rule{.tensors = shipped("megatron_zero_bubble")};
    const std::vector<layer> layers(static_cast<std::size_t>(r.layers), layer::of(m, false, 1));
    const slimpack::shape on{.stages = r.stages};
    const auto rates = rule.of(m, on, layers, 0, false);
    const slimpack::slice sequence{{0}, {0}, {1024}};
    const double kept = slimpack::costs::memory::kept(sequence, rule.pair_bytes(on, layers)).value;
    const double held = rates.fixed + (r.stages - 1) * r.batch * (1024 * rates.live_token + kept);
    EXPECT_NEAR(held / 1e9, r.gigabytes, 0.04 * r.gigabytes) << r.hidden << ' ' << r.batch;
  }
}

TEST(ShippedTables, KeepNoMoreTheMoreIsComputedAgain) {
  const slimpack::costs::model_shape m{
      .hidden = 4096, .heads = 32, .kv_heads = 8, .head_dim = 128, .value_dim = 128, .intermediate = 14336};
  const layer l = layer::of(m, false, 2);
  for (const auto* name :
       {"flash_attention", "megatron_2022", "megatron_zero_bubble", "torchtitan", "galvatron", "deepseek_v3"}) {
    const saved_tensors table = shipped(name);
    for (const recompute again : slimpack::costs::all_recompute) EXPECT_TRUE(table.knows(again)) << name;
    const auto kept = [&](recompute again) {
      return table.token_bytes(l, again, true) + 4096 * table.pair_bytes(l, again);
    };
    EXPECT_GT(kept(recompute::none), kept(recompute::full)) << name;
    EXPECT_GE(kept(recompute::none), kept(recompute::light)) << name;
    EXPECT_GE(kept(recompute::light), kept(recompute::full)) << name;
    EXPECT_GE(kept(recompute::none), kept(recompute::selective)) << name;
    EXPECT_GE(kept(recompute::none), kept(recompute::attention)) << name;
    EXPECT_GE(kept(recompute::selective), kept(recompute::full)) << name;
    EXPECT_GE(kept(recompute::attention), kept(recompute::full)) << name;
  }
}

}  // namespace
}  // namespace saved_tensors_test
