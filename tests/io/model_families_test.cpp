// What a model_type says that no key of its config does: gates, windows, ties and kinds of layers.
#include <slimpack/io/model_config.hpp>

#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/mixer.hpp>

#include "read_configs.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace model_families_test {
namespace {

using namespace read_configs;
using costs::mixing;

/// A model without grouped queries.
json sized(const char* type, int layers, int hidden, int heads, int intermediate, int vocabulary) {
  return {{"model_type", type},           {"num_hidden_layers", layers},  {"hidden_size", hidden},
          {"num_attention_heads", heads}, {"num_key_value_heads", heads}, {"intermediate_size", intermediate},
          {"vocab_size", vocabulary},     {"tie_word_embeddings", false}};
}
double billions(const json& config) { return costs::parameters(read(config).shape) / 1e9; }
json ettin() {
  return changed(sized("modernbert-decoder", 28, 1792, 28, 3840, 50368),
                 {{"hidden_activation", "gelu"}, {"tie_word_embeddings", true}});
}
/// Three layers of a kind, then one with full attention.
std::vector<std::string> three_of_four(const char* kind) {
  std::vector<std::string> all(32, kind);
  for (std::size_t i = 3; i < all.size(); i += 4) all[i] = "full_attention";
  return all;
}

TEST(ModelFamilies, HaveAGateWithAnyActivation) {
  const json llama = sized("llama", 32, 4096, 32, 11008, 32000);
  for (const char* type : {"llama", "qwen2", "qwen3", "internlm", "internlm2", "baichuan", "yi", "xverse", "orion",
                           "telechat", "plamo", "aquila", "sparsellama"})
    for (const char* act : {"silu", "relu", "gelu", "fatrelu"})
      EXPECT_NEAR(billions(changed(llama, {{"model_type", type}, {"hidden_act", act}, {"head_dim", 128}})), 6.738,
                  0.001)
          << type << act;  // published: ReluLLaMA and ProSparse 6.74
  EXPECT_NEAR(billions(changed(llama, {{"model_type", "mistral"},
                                       {"hidden_act", "relu"},
                                       {"num_key_value_heads", 8},
                                       {"intermediate_size", 14336}})),
              7.241, 0.001);  // published: TurboSparse-Mistral 7.24
  EXPECT_NEAR(billions(changed(llama, {{"model_type", "mixtral"}, {"hidden_act", "relu"}})), 37.039, 0.001);
  const auto of = [&](const char* type) {
    return read(changed(mixtral(), {{"model_type", type}, {"hidden_act", "relu"}}));
  };
  for (const char* type : {"mixtral", "qwen2_moe", "qwen3_moe"}) EXPECT_TRUE(of(type).shape.gated) << type;
  EXPECT_NEAR(billions(ettin()), 1.028, 0.0005);  // published: Ettin 1B
  for (const char* type : {"nanochat", "phi-msft", "gpt_neox", "bloom"})
    EXPECT_FALSE(read(changed(llama, {{"model_type", type}, {"hidden_act", "silu"}})).shape.gated) << type;
}

TEST(ModelFamilies, OfFalconAreKnownByTheirFirstNames) {
  const json small = {{"model_type", "RefinedWebModel"},
                      {"multi_query", true},
                      {"hidden_size", 4544},
                      {"n_head", 71},
                      {"n_layer", 32},
                      {"vocab_size", 65024}};
  const json large = {
      {"model_type", "RefinedWeb"}, {"hidden_size", 8192}, {"n_head", 128}, {"n_head_kv", 8}, {"n_layer", 60},
      {"vocab_size", 65024}};
  EXPECT_NEAR(billions(small), 6.92, 0.005);  // published
  EXPECT_NEAR(billions(large), 41.3, 0.05);
}

TEST(ModelFamilies, ThatAreNotKnownSayWhatIsTakenForThem) {
  const json jais = {{"activation_function", "swiglu"},
                     {"model_type", "jais"},
                     {"n_embd", 5120},
                     {"n_head", 40},
                     {"n_inner", 13653},
                     {"n_layer", 40},
                     {"n_positions", 2048},
                     {"vocab_size", 84992}};
  const std::string unknown = "model_type \"jais\" is not known: the model is read like a llama\n";
  const std::string tied =
      "tie_word_embeddings is left out: the output layer is taken to share the matrix of the embedding, as "
      "transformers does in general\n";
  EXPECT_NEAR(billions(jais), 13.02, 0.005);
  EXPECT_EQ(said(read(jais)), unknown + tied);
  const json untied = changed(jais, {{"tie_word_embeddings", false}, {"activation_function", "relu"}});
  EXPECT_NEAR(billions(untied), 13.45, 0.005);
  EXPECT_EQ(said(read(untied)), unknown +
                                    "activation_function is \"relu\": each MLP is taken to have a gate, as a llama's "
                                    "with any activation; without one it has two matrices instead of three\n");
  EXPECT_FALSE(read(without(llama(), "tie_word_embeddings")).shape.tied);  // a llama's class says so
  const json inside = {{"tie_word_embeddings", false}, {"text_config", jais}};
  EXPECT_FALSE(read(inside).shape.tied);
  EXPECT_EQ(said(read(inside)).find(tied), std::string::npos);
}

TEST(ModelFamilies, OfModernBertDecodersHaveHalfOfLocalAttention) {
  const model_reading usual = read(ettin());
  EXPECT_EQ(count(usual, {mixing::window, 64}), 18);
  EXPECT_EQ(mixer_of(usual, 0).span, attention_span{});
  EXPECT_EQ(mixer_of(usual, 1).span, (attention_span{mixing::window, 64}));
  EXPECT_EQ(mixer_of(usual, 27).span, attention_span{});
  EXPECT_EQ(count(read(changed(ettin(), {{"local_attention", 512}})), {mixing::window, 256}), 18);
  EXPECT_EQ(count(read(changed(ettin(), {{"global_attn_every_n_layers", 7}})), {mixing::window, 64}), 24);
  EXPECT_EQ(count(read(changed(ettin(), {{"sliding_window", 96}, {"local_attention", 128}})), {mixing::window, 96}),
            18);
}

TEST(ModelFamilies, WithNearLayersOfAnUnknownReachAreRefused) {
  const auto why = [](const std::string& key) {
    return key +
           ": some layers attend to a window or a chunk, and no key that is known (sliding_window, "
           "attention_chunk_size) says its size, which is not priced; give "
           "times of its stages instead";
  };
  const std::string sliding = why("layer_types is [\"sliding_attention\",\"sliding_attenti...");
  for (const char* type : {"foo", "llama", "apertus", "dots1", "qwen2", "qwen3", "smollm3"}) {
    const json typed = changed(llama(), {{"model_type", type}, {"layer_types", three_of_four("sliding_attention")}});
    EXPECT_EQ(refusal(typed), sliding) << type;
    EXPECT_EQ(refusal(changed(typed, {{"sliding_window", nullptr}})), sliding) << type;
    EXPECT_EQ(refusal(changed(typed, {{"layer_types", three_of_four("chunked_attention")}})),
              why("layer_types is [\"chunked_attention\",\"chunked_attenti..."))
        << type;
    EXPECT_EQ(
        count(read(changed(typed, {{"sliding_window", 1024}, {"use_sliding_window", true}})), {mixing::window, 1024}),
        24)
        << type;
  }
  EXPECT_EQ(refusal(changed(llama(), {{"sliding_window_pattern", 4}})), why("sliding_window_pattern is 4"));
  EXPECT_EQ(refusal(changed(llama(), {{"global_attn_every_n_layers", 4}})), why("global_attn_every_n_layers is 4"));
  EXPECT_EQ(count(read(changed(llama(), {{"sliding_window_pattern", 4}, {"sliding_window", nullptr}})), {}), 32);
  EXPECT_EQ(count(read(changed(llama(), {{"max_window_layers", 28}})), {}), 32);
}

TEST(ModelFamilies, KeepAWindowThatIsNotBelowThePositions) {
  const json wide =
      changed(llama(), {{"model_type", "mistral"}, {"sliding_window", 8192}, {"max_position_embeddings", 8192}});
  EXPECT_EQ(said(read(wide)), "");
  EXPECT_EQ(count(read(wide), {mixing::window, 8192}), 32);
  EXPECT_EQ(count(read(changed(wide, {{"use_sliding_window", false}})), {}), 32);
}

TEST(ModelFamilies, OfOtherLayersAreRefusedByTheirType) {
  const std::string end = ", which is not priced; give times of its stages instead";
  const auto refused = [&](const char* type) { return refusal(changed(llama(), {{"model_type", type}})); };
  for (const char* type : {"gated_deltanet", "deltanet", "delta_net", "gla", "retnet", "hgrn2", "lightnet", "comba"})
    EXPECT_EQ(refused(type),
              "model_type is \"" + std::string(type) +
                  "\", whose linear_attention is true: layers have a state of matrices that are not known" + end);
  for (const char* type : {"llama_bidirec", "mistral_bidirec", "qwen2_bidirectional"})
    EXPECT_EQ(refused(type), "model_type is \"" + std::string(type) +
                                 "\", whose bidirectional is true: tokens attend to later ones, too" + end);
  for (const char* type : {"diffllama", "Motif"})
    EXPECT_EQ(refused(type), "model_type is \"" + std::string(type) +
                                 "\", whose differential_attention is true: attention is the difference of two, with "
                                 "values that are twice as wide as keys" +
                                 end);
  EXPECT_EQ(
      refused("cogvlm"),
      "model_type is \"cogvlm\", whose visual_experts is true: layers have matrices of their own for images" + end);
  EXPECT_EQ(refused("huginn_raven"),
            "model_type is \"huginn_raven\", whose mean_recurrence is 32: some layers run several times" + end);
  EXPECT_EQ(refused("falcon_h1"),
            "model_type is \"falcon_h1\", whose parallel_mamba is true: each layer has a "
            "state-space model beside its attention" +
                end);
  EXPECT_EQ(refused("zamba2"),
            "model_type is \"zamba2\", whose shared_blocks is true: several layers share one block of attention" + end);
  EXPECT_EQ(
      refused("lfm2"),
      "model_type is \"lfm2\", whose conv_L_cache is 3: layers are short convolutions and attention in turn" + end);
  EXPECT_EQ(count(read(changed(llama(), {{"model_type", "bidirec"}})), {}), 32);
}

TEST(ModelFamilies, OfOtherLayersAreRefusedByTheirKeys) {
  for (const auto& [key, value] : {std::tuple{"expand_v", json(2)},
                                   {"use_short_conv", json(true)},
                                   {"use_bidirectional_attention", json(true)},
                                   {"use_bidirectional_attention", json("all")},
                                   {"mean_recurrence", json(32)},
                                   {"ffn_multipliers", json({0.5, 4.0})}}) {
    const std::string why =
        refusal(changed(llama(), {{"model_type", "novel"}, {key, value}, {"intermediate_size", nullptr}}));
    EXPECT_EQ(why.substr(0, why.find(':')), key + (" is " + value.dump()));
    EXPECT_NE(why.find("which is not priced"), std::string::npos) << why;
  }
  for (const auto& [key, value] : {std::tuple{"use_short_conv", json(false)},
                                   {"use_bidirectional_attention", json(false)},
                                   {"use_bidirectional_attention", json("vision")}})  // those of images alone
    EXPECT_EQ(read(changed(llama(), {{key, value}})).shape, read(llama()).shape) << key << value;
}

TEST(ModelFamilies, HaveTheKeyHeadsOfTheirClass) {
  json bare = without(llama(), "num_key_value_heads");
  const auto kv_heads = [&](const char* type, const json& changes = json::object()) {
    return read(changed(changed(bare, {{"model_type", type}}), changes)).shape.kv_heads;
  };
  EXPECT_EQ(kv_heads("llama"), 32);
  EXPECT_EQ(kv_heads("phi3"), 32);
  EXPECT_EQ(kv_heads("mistral"), 8);
  EXPECT_EQ(kv_heads("mistral", {{"num_key_value_heads", nullptr}}), 32);  // as many as heads, says the class
  EXPECT_EQ(kv_heads("mistral", {{"num_key_value_heads", 4}}), 4);
  EXPECT_EQ(kv_heads("mixtral", {{"num_local_experts", 8}}), 8);
  EXPECT_EQ(kv_heads("starcoder2"), 2);
  EXPECT_EQ(kv_heads("smollm3"), 4);
  EXPECT_EQ(kv_heads("phimoe"), 8);
  EXPECT_EQ(kv_heads("ernie4_5"), 4);
  EXPECT_EQ(said(read(changed(bare, {{"model_type", "mistral"}, {"sliding_window", nullptr}}))),
            "the config leaves out what is usual for \"mistral\": num_key_value_heads 8\n");
  EXPECT_EQ(
      refusal(changed(bare, {{"model_type", "qwen2"}, {"hidden_size", 3584}, {"num_attention_heads", 28}})),
      "model_type is \"qwen2\", whose num_key_value_heads is 32: these do not divide the 28 attention heads; give "
      "num_key_value_heads");
}

TEST(ModelFamilies, MayPadTheirWords) {
  const json molmo = changed(sized("molmo", 28, 3584, 28, 37888, 152064), {{"num_key_value_heads", 4}});
  EXPECT_EQ(read(changed(molmo, {{"embedding_size", 152064}})).shape.vocabulary, 152064);
  EXPECT_EQ(read(changed(molmo, {{"embedding_size", 152192}})).shape.vocabulary, 152192);
  EXPECT_EQ(read(changed(molmo, {{"embedding_size", 3584}})).shape.vocabulary, 152064);
  EXPECT_EQ(refusal(changed(molmo, {{"embedding_size", 512}})),
            "embedding_size is 512: embeddings have a width of their own, which is not priced; give times of its "
            "stages instead");
  const json olmo = {{"model_type", "hf_olmo"}, {"activation_type", "swiglu"},
                     {"d_model", 4096},         {"mlp_hidden_size", 22016},
                     {"n_heads", 32},           {"n_layers", 32},
                     {"vocab_size", 50280},     {"embedding_size", 50304},
                     {"weight_tying", false},   {"max_sequence_length", 2048}};
  EXPECT_NEAR(billions(olmo), 6.888, 0.0005);  // published
  EXPECT_TRUE(read(without(olmo, "weight_tying")).shape.tied);
  EXPECT_EQ(read(olmo).shape.max_positions, 2048);
}

}  // namespace
}  // namespace model_families_test
