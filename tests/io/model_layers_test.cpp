// Layers that a configuration makes up one by one: blocks, patterns and lists, and those that predict further tokens.
#include <slimpack/io/model_config.hpp>

#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/mixer.hpp>

#include "read_configs.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <string>
#include <tuple>
#include <vector>

namespace model_layers_test {
namespace {

using namespace read_configs;
using costs::mixing;

/// The refusal of a shared model with changes.
std::string refused(const char* name, const json& changes) { return refusal(changed(config(name), changes)); }

json block(int heads_in_group, double multiple) {
  const json attention = heads_in_group > 0 ? json{{"n_heads_in_group", heads_in_group},
                                                   {"no_op", false},
                                                   {"num_sink_tokens", nullptr},
                                                   {"replace_with_linear", false},
                                                   {"unshifted_sink", false}}
                                            : json{{"n_heads_in_group", nullptr}, {"no_op", true}};
  const json mlp = multiple > 0 ? json{{"ffn_mult", multiple}, {"no_op", false}, {"sparsify", nullptr}}
                                : json{{"ffn_mult", nullptr}, {"no_op", true}};
  return {{"attention", attention}, {"ffn", mlp}};
}
/// Nemotron-NAS of four layers, as Llama-3.3-Nemotron-Super-49B has 80.
json of_blocks(const json& first, const json& third) {
  return {{"model_type", "nemotron-nas"}, {"hidden_size", 8192},
          {"num_attention_heads", 64},    {"num_hidden_layers", 4},
          {"intermediate_size", nullptr}, {"num_key_value_heads", nullptr},
          {"vocab_size", 128256},         {"tie_word_embeddings", false},
          {"hidden_act", "silu"},         {"block_configs", {first, block(8, 5.25), third, block(8, 2.625)}}};
}

TEST(ModelLayers, OfBlocksHaveHeadsAndWidthsOfTheirOwn) {
  const model_reading r = read(of_blocks(block(16, 1.0), block(0, 0.5)));
  const costs::model_shape& m = r.shape;
  EXPECT_EQ(kinds(r), "full 3, none 1");
  EXPECT_EQ(mixer_of(r, 0).kv_heads, 4);
  EXPECT_EQ(mixer_of(r, 1).kv_heads, 8);
  EXPECT_EQ(m.mlp_widths, (std::vector<std::int64_t>{5632, 28672, 2816, 14336}));
  // By hand: queries and output 2 h^2, keys and values 2 h 128 G, MLPs 3 h f.
  const double h = 8192, attention = 3 * 2 * h * h + 2 * h * 128 * (4 + 8 + 8), mlps = 3 * h * 51456;
  EXPECT_EQ(costs::parameters(m), attention + mlps + 2 * h * 128256);
  EXPECT_EQ(read(of_blocks(block(16, 1.0), block(8, 0))).shape.mlp_widths[2], 0);
  const costs::model_shape empty = read(of_blocks(block(16, 1.0), block(0, 0))).shape;  // as in Ultra-253B
  EXPECT_EQ(costs::parameters(m) - costs::parameters(empty), 3 * h * 2816);
  const costs::model_shape alike = read(of_blocks(block(8, 5.25), block(8, 5.25))).shape;
  EXPECT_EQ(alike.kv_heads, 8);
  EXPECT_TRUE(alike.mixers.empty());
}

TEST(ModelLayers, OfBlocksThatAreNotPricedAreRefusedByTheKey) {
  json linear = block(8, 1.0);
  linear["attention"]["replace_with_linear"] = true;
  EXPECT_EQ(refusal(of_blocks(block(8, 1.0), linear)),
            "block_configs[2].attention.replace_with_linear is true, expected false: a matrix in its place is not "
            "priced; give times of its stages instead");
  json sink = block(8, 1.0);
  sink["attention"]["num_sink_tokens"] = 4;
  EXPECT_EQ(refusal(of_blocks(sink, block(8, 1.0))),
            "block_configs[0].attention.num_sink_tokens is 4, expected nothing that is not priced; give times of its "
            "stages instead");
  EXPECT_EQ(refusal(of_blocks(block(7, 1.0), block(8, 1.0))),
            "block_configs[0].attention.n_heads_in_group is 7, expected a divisor of the 64 attention heads");
  EXPECT_EQ(refusal(of_blocks(block(8, -1), block(8, 1.0))).substr(0, 0), "");
  EXPECT_EQ(refusal(changed(of_blocks(block(8, 1.0), block(8, 1.0)), {{"num_hidden_layers", 5}})),
            "block_configs has size 4, expected 5, a block for each layer");
}

TEST(ModelLayers, AreRefusedWhereAListIsNotOfTheirNumber) {
  const std::vector<std::string> names(31, "full_attention");
  EXPECT_EQ(refusal(changed(llama(), {{"layer_types", names}})),
            "layer_types has size 31, expected 32, a name for each layer");
  const std::vector<std::string> more(33, "full_attention");
  EXPECT_EQ(refusal(changed(llama(), {{"layer_types", more}})),
            "layer_types has size 33, expected 32, a name for each layer");
  EXPECT_EQ(count(read(changed(llama(), {{"layer_types", more}, {"num_nextn_predict_layers", 1}})), {}), 32);
  EXPECT_EQ(refused("minimax-m1", {{"num_hidden_layers", 79}}),
            "attn_type_list has size 80, expected 79, a number for each layer");
  EXPECT_EQ(refused("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", {{"hybrid_override_pattern", "M-*"}}),
            "hybrid_override_pattern is \"M-*\", of 3 letters, expected 52, one for each layer");
  EXPECT_EQ(
      refused("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
              {{"hybrid_override_pattern", "M-X-"}, {"num_hidden_layers", 4}}),
      "hybrid_override_pattern is \"M-X-\", whose letter 3 is \"X\", expected M, *, - or E: a state, attention, an "
      "MLP or experts");
  json kimi = json::parse(content_of(file_of("other_models")))["kimi-linear-48b-a3b"];
  kimi["linear_attn_config"]["kda_layers"].erase(0);
  EXPECT_EQ(refusal(kimi), "linear_attn_config lists layer 1 neither in kda_layers nor in full_attn_layers");
  kimi["linear_attn_config"]["kda_layers"].push_back(4);
  EXPECT_EQ(refusal(kimi), "linear_attn_config.full_attn_layers[0] is 4, expected a layer that is listed once");
  kimi["linear_attn_config"]["use_full_rank_gate"] = true;  // Kimi K3
  kimi["linear_attn_config"]["kda_layers"].back() = 1;
  EXPECT_EQ(refusal(kimi),
            "linear_attn_config.use_full_rank_gate is true, expected false: gates of a full rank are not priced; give "
            "times of its stages instead");
}

TEST(ModelLayers, AreRefusedWhereTheyReachNothing) {
  for (const int reach : {0, -1}) {
    const std::string end = " is " + std::to_string(reach) + ", expected a whole number from 1 to 2147483647";
    EXPECT_EQ(refusal(changed(llama(), {{"sliding_window", reach}})), "sliding_window" + end);
    EXPECT_EQ(refusal(changed(llama(), {{"attention_chunk_size", reach}})), "attention_chunk_size" + end);
    EXPECT_EQ(refused("deepseek-ai--DeepSeek-V3.2", {{"index_topk", reach}}), "index_topk" + end);
    EXPECT_EQ(read(changed(llama(), {{"sliding_window", reach}, {"use_sliding_window", false}})).shape,
              read(llama()).shape);
  }
  EXPECT_EQ(refused("deepseek-ai--DeepSeek-V3.2", {{"index_topk", 200000}}),
            "index_topk is 200000, expected at most the 163840 positions of the model");
  EXPECT_EQ(refused("deepseek-ai--DeepSeek-V3.2", {{"index_head_dim", nullptr}}), "lacks the key \"index_head_dim\"");
}

TEST(ModelLayers, AreRefusedWhereTheirStateLacksASize) {
  for (const auto& [name, key] : {std::tuple{"jamba-v0.1", "mamba_d_state"},
                                  {"jamba-v0.1", "mamba_d_conv"},
                                  {"granite-4.0-h-small", "mamba_n_groups"},
                                  {"granite-4.0-h-small", "mamba_d_state"},
                                  {"Qwen--Qwen3.5-35B-A3B", "linear_key_head_dim"}}) {
    json bare = config(name);
    json& text = bare.contains("text_config") ? bare["text_config"] : bare;
    text[key] = nullptr;
    const std::string why = refusal(bare);
    EXPECT_NE(why.find("lacks the key \"" + std::string(key) + "\""), std::string::npos) << name << why;
  }
  EXPECT_EQ(refused("granite-4.0-h-small", {{"mamba_n_groups", 3}}),
            "mamba_n_heads is 128, expected a multiple of the 3 groups of keys");
  EXPECT_EQ(refusal(changed(config("Qwen--Qwen3.5-35B-A3B")["text_config"], {{"linear_num_key_heads", 5}})),
            "linear_num_value_heads is 32, expected a multiple of the 5 groups of keys");
  EXPECT_EQ(refused("granite-4.0-h-small", {{"mamba_d_head", "auto"}, {"mamba_n_heads", 7}}),
            "mamba_n_heads is 7, expected a divisor of the inner width 8192");
  EXPECT_EQ(refused("granite-4.0-h-small", {{"mamba_ssm_dtype", "int8"}}),
            "mamba_ssm_dtype is \"int8\", expected float32, bfloat16 or float16");
  EXPECT_EQ(refused("granite-4.0-h-small", {{"mamba_d_state", 1 << 30}}),
            "mamba_d_state is 1073741824, expected a whole number from 1 to 1048576");
  EXPECT_EQ(
      refusal(changed(llama(), {{"attn_layer_period", 8}})),
      "attn_layer_period is 8: layers have a state instead of attention, and no key that is known (mamba_d_state, "
      "linear_num_value_heads) says its size, which is not priced; give times of its stages instead");
}

TEST(ModelLayers, ThatPredictFurtherTokensAreAddedWhereAsked) {
  for (const auto& [name, further, last] : {std::tuple{"deepseek-ai--DeepSeek-V3.2", 1, "top:2048 62"},
                                            {"Qwen--Qwen3.5-35B-A3B", 1, "delta 30, full 11"},
                                            {"smollm3-3b", 0, "full 36"}}) {
    model_reading r = reading(name);
    EXPECT_EQ(r.further, further) << name;
    EXPECT_EQ(r.left_out.empty(), further == 0) << name;
    const costs::model_shape before = r.shape;
    r.shape = io::with_further(r);
    EXPECT_EQ(r.shape.layers, before.layers + further) << name;
    EXPECT_EQ(r.shape.further, further) << name;
    EXPECT_EQ(r.shape.moe_layers(), before.moe_layers() + (before.experts > 0 ? further : 0)) << name;
    EXPECT_EQ(kinds(r), last) << name;
  }
  const json several = changed(mixtral(), {{"moe_layer_freq", 2}, {"num_mtp_modules", 3}});
  const model_reading r = read(several);
  EXPECT_EQ(r.further, 3);
  EXPECT_EQ(io::with_further(r).expert_layers.size(), 35u);
  EXPECT_FALSE(io::with_further(r).is_moe(34));  // as the last one, layer 31
  json nemotron = config("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16");
  nemotron.update({{"num_nextn_predict_layers", 1}, {"mtp_hybrid_override_pattern", "*E"}});
  EXPECT_EQ(read(nemotron).further, 0);
  EXPECT_NE(read(nemotron).left_out, "");
  EXPECT_EQ(refusal(changed(llama(), {{"num_nextn_predict_layers", -1}})),
            "num_nextn_predict_layers is -1, expected a whole number from 0 to 64");
}

TEST(ModelLayers, OfPublishedModelsHaveTheirSizeOrAreRefusedByTheKey) {
  const json all = json::parse(content_of(file_of("published")));
  EXPECT_EQ(all.size(), 18u);
  for (const auto& [name, one] : all.items()) {
    if (one.contains("refused")) {
      const std::string expected = one["refused"];
      EXPECT_EQ(refusal(one["config"]).substr(0, expected.size()), expected) << name;
    } else {
      const double published = one["billions"];
      EXPECT_NEAR(costs::parameters(read(one["config"]).shape) / 1e9 / published, 1, 0.003) << name;
    }
  }
}

TEST(ModelLayers, OfExpertsOfAnotherWidthAreRefused) {
  EXPECT_EQ(refused("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", {{"moe_latent_size", 1024}}).substr(0, 23),
            "moe_latent_size is 1024");
  EXPECT_EQ(refusal(changed(mixtral(), {{"routed_expert_hidden_size", 3584}})).substr(0, 33),
            "routed_expert_hidden_size is 3584");
}

}  // namespace
}  // namespace model_layers_test
