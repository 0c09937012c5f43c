#include <slimpack/io/model_config.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace model_config_test {
namespace {

using nlohmann::json;
using slimpack::errc;
using slimpack::costs::model_shape;
using slimpack::io::read_model;

json config(const std::string& name) { return json::parse(content_of(data("models/" + name + ".json"))); }

/// The shape of a shipped model with some of its keys replaced.
model_shape changed(json config, const json& changes) {
  const scratch s;
  config.update(changes);
  return read_model(s.file("config.json", config.dump())).value();
}

std::string refusal(json config, const json& changes) {
  const scratch s;
  config.update(changes);
  const auto file = s.file("config.json", config.dump());
  return complaint(read_model(file), file, errc::invalid_input);
}

/// Parameters but for norms and biases: embeddings, attention, feed-forward, experts and routers.
std::int64_t counted_parameters(const model_shape& m) {
  const std::int64_t query = m.heads * m.head_dim;
  std::int64_t attention = m.heads * m.value_dim * m.hidden;
  if (m.kv_rank > 0) {
    attention += m.query_rank > 0 ? m.query_rank * (m.hidden + query) : m.hidden * query;
    attention += m.hidden * (m.kv_rank + m.rope_dim);
    attention += m.kv_rank * m.heads * (m.head_dim - m.rope_dim + m.value_dim);
  } else {
    attention += m.hidden * (query + m.kv_heads * (m.head_dim + m.value_dim));
  }
  std::int64_t sum = (m.tied ? 1 : 2) * m.vocabulary * m.hidden + m.layers * attention;
  for (int layer = 0; layer < m.layers; ++layer) {
    const std::int64_t matrices = m.gated ? 3 : 2;
    if (m.is_moe(layer))
      sum += m.hidden * ((m.experts + m.shared_experts) * matrices * m.expert_intermediate + m.experts);
    else
      sum += m.hidden * matrices * m.intermediate;
  }
  return sum;
}

TEST(ModelConfig, OfEveryShippedModelCountsToItsPublishedSize) {
  const auto billions = [](const char* name) {
    return static_cast<double>(counted_parameters(read_model(data(std::string("models/") + name + ".json")).value())) /
           1e9;
  };
  EXPECT_NEAR(billions("llama-3.1-8b"), 8.03, 0.005);
  EXPECT_NEAR(billions("llama-3.1-70b"), 70.55, 0.005);
  EXPECT_NEAR(billions("qwen2.5-7b"), 7.62, 0.01);
  EXPECT_NEAR(billions("mixtral-8x7b"), 46.70, 0.005);
  EXPECT_NEAR(billions("deepseek-v3"), 671.03, 0.005);
  EXPECT_NEAR(billions("gpt-3-175b"), 174.56, 0.005);
}

TEST(ModelConfig, OfGroupedQueriesIsReadWhole) {
  const model_shape expected{.name = "llama-3.1-70b",
                             .layers = 80,
                             .hidden = 8192,
                             .heads = 64,
                             .kv_heads = 8,
                             .head_dim = 128,
                             .value_dim = 128,
                             .intermediate = 28672,
                             .vocabulary = 128256,
                             .gated = true,
                             .tied = false,
                             .max_positions = 131072};
  EXPECT_EQ(read_model(data("models/llama-3.1-70b.json")).value(), expected);
}

TEST(ModelConfig, OfLatentAttentionAndExpertsIsReadWhole) {
  const model_shape expected{.name = "deepseek-v3",
                             .layers = 61,
                             .hidden = 7168,
                             .heads = 128,
                             .kv_heads = 128,
                             .head_dim = 192,
                             .value_dim = 128,
                             .intermediate = 18432,
                             .vocabulary = 129280,
                             .gated = true,
                             .tied = false,
                             .max_positions = 163840,
                             .experts = 256,
                             .experts_per_token = 8,
                             .shared_experts = 1,
                             .expert_intermediate = 2048,
                             .dense_layers = 3,
                             .query_rank = 1536,
                             .kv_rank = 512,
                             .rope_dim = 64};
  EXPECT_EQ(read_model(data("models/deepseek-v3.json")).value(), expected);
}

TEST(ModelConfig, OfMixtralGivesEveryExpertTheWholeWidth) {
  const model_shape m = read_model(data("models/mixtral-8x7b.json")).value();
  EXPECT_EQ(m.experts, 8);
  EXPECT_EQ(m.experts_per_token, 2);
  EXPECT_EQ(m.shared_experts, 0);
  EXPECT_EQ(m.expert_intermediate, 14336);
  EXPECT_TRUE(m.is_moe(0));
}

TEST(ModelConfig, HasAGateAsItsFamilyWhateverTheActivation) {
  const json llama = config("llama-3.1-8b");
  EXPECT_TRUE(changed(llama, {{"hidden_act", "silu"}}).gated);
  EXPECT_TRUE(changed(llama, {{"hidden_act", "gelu"}}).gated);
  EXPECT_TRUE(changed(llama, {{"hidden_act", nullptr}}).gated);
  EXPECT_TRUE(changed(llama, {{"hidden_act", "gelu"}, {"model_type", "gemma"}}).gated);
  EXPECT_FALSE(changed(llama, {{"model_type", "gpt_neox"}}).gated);
  EXPECT_FALSE(read_model(data("models/gpt-3-175b.json")).value().gated);
}

TEST(ModelConfig, TakesNullForAbsent) {
  const json llama = config("llama-3.1-8b");
  EXPECT_EQ(changed(llama, {{"head_dim", nullptr}}).head_dim, 128);
  EXPECT_EQ(changed(llama, {{"num_key_value_heads", nullptr}}).kv_heads, 32);
  EXPECT_FALSE(changed(llama, {{"tie_word_embeddings", nullptr}}).tied);
  EXPECT_EQ(changed(llama, {{"max_position_embeddings", nullptr}}).max_positions, 0);
}

TEST(ModelConfig, PrefersAGivenHeadWidth) {
  const model_shape m = changed(config("qwen2.5-7b"), {{"head_dim", 96}});
  EXPECT_EQ(m.head_dim, 96);
  EXPECT_EQ(m.value_dim, 96);
}

TEST(ModelConfig, OfGpt2HasItsOwnNames) {
  const scratch s;
  const auto file = s.file("gpt2.json", R"({"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12,
      "n_positions": 1024, "n_inner": null, "vocab_size": 50257, "activation_function": "gelu_new"})");
  const model_shape m = read_model(file).value();
  EXPECT_EQ(m.intermediate, 4 * 768);
  EXPECT_EQ(m.max_positions, 1024);
  EXPECT_TRUE(m.tied);
  // Published: 124.4 M with 1024 x 768 position embeddings, which are not counted here, and biases and norms.
  EXPECT_NEAR(static_cast<double>(counted_parameters(m) + 1024 * 768) / 1e6, 124.4, 0.15);
}

TEST(ModelConfig, OfQwenExpertsCountsSharedWidthInExperts) {
  const model_shape m = changed(config("qwen2.5-7b"), {{"num_experts", 60},
                                                       {"num_experts_per_tok", 4},
                                                       {"moe_intermediate_size", 1408},
                                                       {"decoder_sparse_step", 1},
                                                       {"shared_expert_intermediate_size", 5632}});
  EXPECT_EQ(m.shared_experts, 4);
  EXPECT_EQ(m.expert_intermediate, 1408);
}

TEST(ModelConfig, OfFalconWithOneKeyHeadForAllQueries) {
  const json falcon{{"model_type", "falcon"}, {"multi_query", true}, {"num_key_value_heads", nullptr}};
  EXPECT_EQ(changed(config("llama-3.1-8b"), falcon).kv_heads, 1);
}

TEST(ModelConfig, IsRefusedWithoutAKeyItNeeds) {
  for (const char* key : {"num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size", "intermediate_size"})
    EXPECT_EQ(refusal(config("llama-3.1-8b"), {{key, nullptr}}), "lacks the key \"" + std::string(key) + "\"");
  for (const char* key : {"num_experts_per_tok", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"})
    EXPECT_EQ(refusal(config("deepseek-v3"), {{key, nullptr}}), "lacks the key \"" + std::string(key) + "\"");
}

TEST(ModelConfig, IsRefusedForNonsense) {
  const json llama = config("llama-3.1-8b");
  EXPECT_EQ(refusal(llama, {{"num_hidden_layers", 0}}),
            "num_hidden_layers is 0, expected a whole number from 1 to 2048");
  EXPECT_EQ(refusal(llama, {{"hidden_size", -4096}}),
            "hidden_size is -4096, expected a whole number from 1 to 1048576");
  EXPECT_EQ(refusal(llama, {{"hidden_size", "4096"}}),
            "hidden_size is \"4096\", expected a whole number from 1 to 1048576");
  EXPECT_EQ(refusal(llama, {{"vocab_size", 1e30}}),
            "vocab_size is 1e+30, expected a whole number from 1 to 2147483647");
  EXPECT_EQ(refusal(llama, {{"num_attention_heads", 33}, {"num_key_value_heads", 33}}),
            "num_attention_heads is 33, expected a divisor of hidden_size (4096), or a head_dim");
  EXPECT_EQ(refusal(llama, {{"num_key_value_heads", 7}}),
            "num_key_value_heads is 7, expected a divisor of the 32 attention heads");
  EXPECT_EQ(refusal(llama, {{"num_key_value_heads", 64}}),
            "num_key_value_heads is 64, expected a whole number from 1 to 32");
  EXPECT_EQ(refusal(llama, {{"head_dim", 1 << 20}}),
            "num_attention_heads is 32, expected heads x head width of at most "
            "1048576");
  EXPECT_EQ(refusal(llama, {{"tie_word_embeddings", 1}}), "tie_word_embeddings is 1, expected true or false");
}

TEST(ModelConfig, IsRefusedForImpossibleExperts) {
  EXPECT_EQ(refusal(config("mixtral-8x7b"), {{"num_experts_per_tok", 9}}),
            "num_experts_per_tok is 9, expected a whole number from 1 to 8");
  EXPECT_EQ(refusal(config("deepseek-v3"), {{"first_k_dense_replace", 62}}),
            "first_k_dense_replace is 62, expected a whole number from 0 to 61");
  EXPECT_EQ(refusal(config("deepseek-v3"), {{"moe_layer_freq", -1}}),
            "moe_layer_freq is -1, expected a whole number from 1 to 65536");
  EXPECT_EQ(refusal(config("deepseek-v3"), {{"moe_layer_freq", {1, 0}}}),
            "moe_layer_freq has size 2, expected 61, a number for each layer");
}

TEST(ModelConfig, ThatIsNoJsonObjectIsRefused) {
  const scratch s;
  const auto refused = [&](const char* text) {
    const auto file = s.file("config.json", text);
    return complaint(read_model(file), file, errc::invalid_input);
  };
  EXPECT_EQ(refused(""), "not JSON, or cut short: syntax error at byte 1");
  EXPECT_EQ(refused("{\"hidden_size\": 4"), "not JSON, or cut short: syntax error at byte 18");
  EXPECT_EQ(refused("[]"), "the document is an array, expected an object");
}

}  // namespace
}  // namespace model_config_test
