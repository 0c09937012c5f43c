// The mixers of layers, whole: heads, indexers, and the matrices of a state.
#include <slimpack/io/model_config.hpp>

#include <slimpack/costs/model/mixer.hpp>

#include "read_configs.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <string>
#include <tuple>
#include <vector>

namespace model_mixers_test {
namespace {

using namespace read_configs;
using costs::mixing;

TEST(ModelMixers, HaveHeadsOfTheirOwnInLayersWithAWindow) {
  const model_reading r = reading("XiaomiMiMo--MiMo-V2-Flash");
  EXPECT_EQ(mixer_of(r, 0), (costs::mixer{.heads = 64, .kv_heads = 4, .head_dim = 192, .value_dim = 128}));
  EXPECT_EQ(
      mixer_of(r, 1),
      (costs::mixer{.span = {mixing::window, 128}, .heads = 64, .kv_heads = 8, .head_dim = 192, .value_dim = 128}));
  json config = read_configs::config("XiaomiMiMo--MiMo-V2-Flash");
  config.update({{"swa_num_attention_heads", 48}, {"swa_head_dim", 64}, {"swa_v_head_dim", 32}});
  EXPECT_EQ(mixer_of(read(config), 1).heads, 48);
  EXPECT_EQ(mixer_of(read(config), 1).head_dim, 64);
  EXPECT_EQ(mixer_of(read(config), 1).value_dim, 32);
  EXPECT_EQ(refusal(changed(config, {{"swa_num_key_value_heads", 7}})),
            "swa_num_key_value_heads is 7, expected a divisor of the 48 attention heads");
  config.erase("swa_num_key_value_heads");
  EXPECT_EQ(refusal(changed(config, {{"swa_num_attention_heads", 42}})),
            "swa_num_attention_heads is 42, expected a multiple of the 4 key heads");
  const json gemma = changed(llama(), {{"sliding_window", 512},
                                       {"sliding_window_pattern", 4},
                                       {"global_head_dim", 256},
                                       {"num_global_key_value_heads", 2}});
  EXPECT_EQ(mixer_of(read(gemma), 3), (costs::mixer{.heads = 32, .kv_heads = 2, .head_dim = 256, .value_dim = 256}));
  EXPECT_EQ(mixer_of(read(gemma), 2).head_dim, 128);
}

TEST(ModelMixers, HaveAnIndexerWhereKeysAreChosen) {
  const costs::mixer m = mixer_of(reading("deepseek-ai--DeepSeek-V3.2"), 60);
  EXPECT_EQ(m, (costs::mixer{.span = {mixing::top_k, 2048},
                             .heads = 128,
                             .kv_heads = 128,
                             .head_dim = 192,
                             .value_dim = 128,
                             .index_heads = 64,
                             .index_width = 128}));
  std::vector<std::string> indexers(61, "shared");  // as of GLM-5.2
  indexers[0] = indexers[4] = "full";
  json shared = changed(config("deepseek-ai--DeepSeek-V3.2"), {{"indexer_types", indexers}});
  EXPECT_EQ(kinds(read(shared)), "top:2048 61");
  EXPECT_EQ(mixer_of(read(shared), 4), m);
  EXPECT_EQ(mixer_of(read(shared), 5).index_heads, 0);
  shared["indexer_types"][0] = "shared";
  EXPECT_EQ(refusal(shared), "indexer_types[0] is \"shared\", expected full: there is no layer before it");
  std::vector<std::string> names(61, "full_attention");
  names[7] = "deepseek_sparse_attention";
  const json named = changed(config("deepseek-ai--DeepSeek-V3.2"), {{"layer_types", names}});
  EXPECT_EQ(kinds(read(named)), "full 60, top:2048 1");
  EXPECT_EQ(refusal(changed(llama(), {{"layer_types", std::vector<std::string>(32, "deepseek_sparse_attention")}})),
            "lacks the key \"index_topk\"");
}

TEST(ModelMixers, HaveTheMatricesOfTheirState) {
  EXPECT_EQ(mixer_of(reading("jamba-v0.1"), 0), (costs::mixer{.span = {mixing::selective},
                                                              .heads = 8192,
                                                              .kv_heads = 1,
                                                              .head_dim = 16,
                                                              .value_dim = 1,
                                                              .in = 16384,
                                                              .inner = 8192 * (256 + 32) + 256 * 8192,
                                                              .out = 8192,
                                                              .taps = 4,
                                                              .convolved = 8192}));
  EXPECT_EQ(mixer_of(reading("nvidia--Nemotron-H-56B-Base-8K"), 0), (costs::mixer{.span = {mixing::dual},
                                                                                  .heads = 256,
                                                                                  .kv_heads = 8,
                                                                                  .head_dim = 256,
                                                                                  .value_dim = 64,
                                                                                  .in = 2 * 16384 + 4096 + 256,
                                                                                  .out = 16384,
                                                                                  .scan = 128,
                                                                                  .taps = 4,
                                                                                  .convolved = 16384 + 4096}));
  EXPECT_EQ(mixer_of(counted("qwen3-next-80b-a3b"), 0), (costs::mixer{.span = {mixing::delta},
                                                                      .heads = 32,
                                                                      .kv_heads = 16,
                                                                      .head_dim = 128,
                                                                      .value_dim = 128,
                                                                      .in = 2 * 2048 + 2 * 4096 + 64,
                                                                      .out = 4096,
                                                                      .scan = 64,
                                                                      .taps = 4,
                                                                      .convolved = 8192}));
  EXPECT_TRUE(mixer_of(counted("qwen3-next-80b-a3b"), 3).output_gate);
  EXPECT_EQ(mixer_of(reading("minimax-m1"), 0), (costs::mixer{.span = {mixing::lightning},
                                                              .heads = 64,
                                                              .kv_heads = 64,
                                                              .head_dim = 128,
                                                              .value_dim = 128,
                                                              .in = 4 * 8192,
                                                              .out = 8192,
                                                              .scan = 256}));
  EXPECT_EQ(mixer_of(counted("kimi-linear-48b-a3b"), 0).inner, 2 * 128 * 4096);
  const json granite = config("granite-4.0-h-small");
  EXPECT_EQ(mixer_of(read(changed(granite, {{"mamba_d_head", "auto"}})), 0), mixer_of(read(granite), 0));
  EXPECT_EQ(mixer_of(read(changed(granite, {{"mamba_chunk_size", 128}})), 0).scan, 128);
  const json jamba = config("jamba-v0.1");
  EXPECT_EQ(mixer_of(read(changed(jamba, {{"mamba_dt_rank", 128}})), 0).inner, 8192 * (128 + 32) + 128 * 8192);
  for (const auto& [key, type, bytes] :
       {std::tuple{"mamba_ssm_dtype", "float32", 4}, {"mamba_ssm_cache_dtype", "bfloat16", 2}})
    EXPECT_EQ(mixer_of(read(changed(granite, {{key, type}})), 0).state_element, bytes);
}

TEST(ModelMixers, HaveAnMlpAloneOrNoneWhereAPatternSaysSo) {
  const costs::model_shape m = reading("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16").shape;  // MEMEM*E...
  const auto width = [&](int layer) { return m.mlp_width(m.kind(layer)); };
  EXPECT_FALSE(m.is_moe(0));
  EXPECT_EQ(width(0), 0);
  EXPECT_TRUE(m.is_moe(1));
  EXPECT_EQ(width(5), 0);
  EXPECT_EQ(m.moe_layers(), 23);
  const model_reading large = reading("nvidia--Nemotron-H-56B-Base-8K");  // M-M-M-M*-
  EXPECT_EQ(large.shape.mlp_width(large.shape.kind(1)), 32768);
  EXPECT_EQ(large.shape.mlp_width(large.shape.kind(7)), 0);
  json named = without(config("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"), "hybrid_override_pattern");
  std::vector<std::string> names;
  for (const char letter : std::string("MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"))
    names.push_back(letter == 'M' ? "mamba" : letter == '*' ? "attention" : "moe");
  named["layers_block_type"] = names;
  EXPECT_EQ(read(named).shape, read(config("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")).shape);
  EXPECT_EQ(read(without(named, "num_hidden_layers")).shape.layers, 52);
}

}  // namespace
}  // namespace model_mixers_test
