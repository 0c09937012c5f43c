// Configurations of 2023 to 2026: what is read right, what is named, and what is refused.
#include <slimpack/io/model_config.hpp>

#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/mixer.hpp>

#include "read_configs.hpp"
#include "scratch.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace model_kinds_test {
namespace {

using namespace read_configs;
using costs::mixing;

TEST(ModelKinds, HaveTheParametersOfTheLanguageModel) {
  const json exact = json::parse(content_of(file_of("exact_counts")));
  EXPECT_EQ(exact.size(), 34u);
  for (const auto& [name, counts] : exact.items()) {
    const double found = costs::parameters(counted(name).shape), all = counts["parameters"].get<double>();
    EXPECT_NEAR(found / all, 1, name == "mamba-130m" ? 0.01 : 0.004) << name;  // norms, biases, convolutions, decays
    EXPECT_LE(found, all) << name;
  }
}

TEST(ModelKinds, HaveThePairsOfTheirLayers) {
  const slice row{{}, {}, tokens{20000}};
  const json exact = json::parse(content_of(file_of("exact_counts")));
  for (const auto& [name, counts] : exact.items()) {
    const model_reading r = counted(name);
    double pairs = 0;
    for (int i = 0; i < r.shape.layers; ++i) pairs += mixer_of(r, i).span.pairs(row);
    EXPECT_EQ(pairs, counts["pairs"].get<double>()) << name;
  }
}

TEST(ModelKinds, HaveTheActiveParametersThatArePublished) {
  const auto active = [](const char* name) { return costs::active_parameters(reading(name).shape) / 1e9; };
  EXPECT_NEAR(active("openai--gpt-oss-120b"), 5.1, 0.05);
  EXPECT_NEAR(active("ernie-4.5-21b-a3b"), 3, 0.4);  // with the head, 0.26
  EXPECT_NEAR(active("granite-4.0-h-small"), 9, 0.25);
  EXPECT_NEAR(active("minimax-m1"), 45.9 + 1.23, 0.1);  // with the head
  EXPECT_NEAR(active("jamba-v0.1"), 12, 0.2);
  EXPECT_NEAR(active("meta-llama--Llama-4-Scout-17B-16E-Instruct"), 17 - 1.03, 0.2);  // without the embedding
  EXPECT_NEAR(active("Qwen--Qwen3.5-35B-A3B"), 3, 0.1);
}

TEST(ModelKinds, ThatAreShippedAreThoseThatWereCounted) {
  for (const auto& [shipped, from] : {std::pair{"gpt-oss-120b", "openai--gpt-oss-120b"},
                                      {"qwen3-next-80b-a3b", "qwen3-next-80b-a3b"},
                                      {"qwen3.5-35b-a3b", "Qwen--Qwen3.5-35B-A3B"},
                                      {"mimo-v2-flash", "XiaomiMiMo--MiMo-V2-Flash"},
                                      {"deepseek-v3.2", "deepseek-ai--DeepSeek-V3.2"},
                                      {"glm-5.1", "zai-org--GLM-5.1"},
                                      {"llama-4-scout", "meta-llama--Llama-4-Scout-17B-16E-Instruct"},
                                      {"nemotron-3-nano-30b-a3b", "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"},
                                      {"nemotron-h-56b", "nvidia--Nemotron-H-56B-Base-8K"},
                                      {"gemma-3-27b", "gemma-3-27b-nested"}}) {
    const model_reading r = io::read_model_config(data("models/" + std::string(shipped) + ".json")).value();
    costs::model_shape expected = counted(from).shape;
    expected.name = shipped;
    EXPECT_EQ(r.shape, expected) << shipped;
    EXPECT_TRUE(r.notes.empty()) << shipped << said(r);
  }
}

TEST(ModelKinds, HaveTheMixersOfTheirLayers) {
  for (const auto& [name, expected] : {std::pair{"openai--gpt-oss-120b", "window:128 18, full 18"},
                                       {"gemma-3-27b-nested", "window:1024 52, full 10"},
                                       {"deepseek-ai--DeepSeek-V3.2", "top:2048 61"},
                                       {"zai-org--GLM-5.1", "top:2048 78"},
                                       {"meta-llama--Llama-4-Scout-17B-16E-Instruct", "chunks:8192 36, full 12"},
                                       {"mistral-7b-v0.1", "window:4096 32"},
                                       {"XiaomiMiMo--MiMo-V2-Flash", "full 9, window:128 39"},
                                       {"jamba-v0.1", "selective 28, full 4"},
                                       {"granite-4.0-h-small", "dual 36, full 4"},
                                       {"minimax-m1", "lightning 70, full 10"},
                                       {"Qwen--Qwen3.5-35B-A3B", "delta 30, full 10"},
                                       {"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "dual 23, none 23, full 6"},
                                       {"nvidia--Nemotron-H-56B-Base-8K", "dual 54, none 54, full 10"},
                                       {"qwen3-next-80b-a3b", "delta 36, full 12"},
                                       {"kimi-linear-48b-a3b", "delta 20, full 7"},
                                       {"ring-mini-linear-2.0", "lightning 16, full 4"},
                                       {"bamba-9b", "dual 29, full 3"},
                                       {"mamba2-780m", "dual 48"},
                                       {"mamba-130m", "selective 24"},
                                       {"exaone-4.0-32b", "window:4096 48, full 16"},
                                       {"gemma-2-27b", "window:4096 23, full 23"},
                                       {"phi-3-mini-4k", "window:2047 32"},
                                       {"olmo-3-7b", "window:4096 24, full 8"},
                                       {"command-a", "window:4096 48, full 16"},
                                       {"gpt-oss-20b", "window:128 12, full 12"}})
    EXPECT_EQ(kinds(counted(name)), expected) << name;
}

TEST(ModelKinds, OfFullAttentionAloneHaveNoListOfMixers) {
  for (const char* name :
       {"Qwen--Qwen3-30B-A3B", "Qwen--Qwen3-8B", "Qwen--Qwen3-Coder-480B-A35B-Instruct", "Qwen--Qwen3-VL-8B-Instruct",
        "ernie-4.5-21b-a3b", "internvl3-8b", "moonshotai--Kimi-K2.5", "smollm3-3b", "minimax-m2"}) {
    const costs::model_shape m = counted(name).shape;
    EXPECT_TRUE(m.mixers.empty() && m.mixer_of.empty() && m.mlp_widths.empty()) << name;
  }
}

TEST(ModelKinds, OfOtherLayersAreRefusedByTheKey) {
  EXPECT_EQ(refusal({{"model_type", "bert"}, {"hidden_size", 768}}).substr(0, 50),
            "model_type is \"bert\", whose bidirectional is true:");
  EXPECT_EQ(refusal({{"model_type", "t5"}, {"d_model", 512}, {"is_encoder_decoder", true}}).substr(0, 28),
            "is_encoder_decoder is true: ");
  EXPECT_EQ(refusal(changed(llama(), {{"cross_attention_layers", {3, 8}}})).substr(0, 32),
            "cross_attention_layers is [3,8]:");
  EXPECT_EQ(refusal(changed(llama(), {{"mamba_d_state", 16}})).substr(0, 20), "mamba_d_state is 16:");
  EXPECT_EQ(refusal(changed(llama(), {{"mamba_d_state", 16}, {"sliding_window", 512}, {"sliding_window_pattern", 2}}))
                .substr(0, 20),
            "mamba_d_state is 16:");
  const std::vector<std::string> attention(
      32, "attention");  // granite-4.0-micro has the keys of a state, and no such layer
  EXPECT_EQ(count(read(changed(llama(), {{"mamba_d_state", 16}, {"layer_types", attention}})), {}), 32);
  EXPECT_EQ(refusal(changed(llama(), {{"layer_types", std::vector<std::string>(32, "conv")}})),
            "layer_types[0] is \"conv\", expected a kind of layer that is known: of another one neither matrices nor "
            "attention are priced");
}

TEST(ModelKinds, AreReadWithWhatPythonWritesForNumbersThatJsonLacks) {
  const std::string text = content_of(file_of("nvidia--Nemotron-H-56B-Base-8K"));
  EXPECT_NE(text.find("Infinity"), std::string::npos);
  EXPECT_EQ(reading("nvidia--Nemotron-H-56B-Base-8K").shape.layers, 118);
  const scratch s;
  std::string plain = llama().dump();
  plain.insert(1, R"("limits": [0.0, Infinity, -Infinity, NaN], "text \"NaN": "Infinity", )");
  EXPECT_EQ(io::read_model_config(s.file("infinite.json", plain)).value().shape.layers, 32);
  plain.replace(plain.find("\"num_hidden_layers\":32"), 22, "\"num_hidden_layers\":NaN");
  const auto bad = s.file("bad.json", plain);
  EXPECT_EQ(complaint(io::read_model_config(bad), bad, errc::invalid_input),
            "num_hidden_layers is \"?\", expected a whole number from 1 to 2048");
  const auto cut = s.file("cut.json", R"({"a": Infinity, "b": })");
  EXPECT_EQ(complaint(io::read_model_config(cut), cut, errc::invalid_input),
            "not JSON, or cut short: syntax error at byte 22");
}

TEST(ModelKinds, InsideOthersAreFoundAndTheRestIsNoted) {
  EXPECT_EQ(said(reading("gemma-3-27b-nested")),
            "of the model only the language model is planned, text_config; left out: \"vision_config\"\n");
  json omni{{"thinker_config",
             {{"text_config", without(config("Qwen--Qwen3-30B-A3B"), "num_hidden_layers")},
              {"audio_config", {{"d_model", 1}}}}},
            {"talker_config", {{"a", 1}}}};
  const model_reading inner = read(omni);
  EXPECT_EQ(inner.shape.layers, 24);  // the default of qwen3_moe, which the writer leaves out in there
  EXPECT_EQ(said(inner),
            "of the model only the language model is planned, thinker_config.text_config; left out: \"talker_config, "
            "audio_config\"\n"
            "the config leaves out what is usual for \"qwen3_moe\": num_hidden_layers 24\n");
  EXPECT_EQ(refusal(without(config("Qwen--Qwen3-30B-A3B"), "num_hidden_layers")),
            "lacks the key \"num_hidden_layers\"");
  omni["thinker_config"]["text_config"]["hidden_size"] = -1;
  EXPECT_EQ(refusal(omni), "thinker_config.text_config.hidden_size is -1, expected a whole number from 1 to 1048576");
}

TEST(ModelKinds, WhoseLayersDifferInAListAreRefusedByIt) {
  std::vector<int> heads(32, 32);
  EXPECT_EQ(read(changed(llama(), {{"num_attention_heads_per_layer", heads}})).shape, read(llama()).shape);
  heads[9] = 64;
  EXPECT_EQ(refusal(changed(llama(), {{"num_attention_heads_per_layer", heads}})),
            "\"num_attention_heads_per_layer\" is [32,32,32,32,32,32,32,32,32,64,32,32,...: layers differ in it, which "
            "is not "
            "priced; give times of its stages instead");
  EXPECT_EQ(
      refusal(changed(llama(), {{"compress_ratios", {0, 4, 128}}, {"hc_mult", 4}, {"index_topk", 512}})).substr(0, 18),
      "compress_ratios is");
}

TEST(ModelKinds, ThatAreNotKnownAreReadLikeLlamaAndNoted) {
  EXPECT_TRUE(read(without(changed(llama(), {{"model_type", "novel"}}), "hidden_act")).shape.gated);
  const model_reading r = read(changed(llama(), {{"model_type", "novel\n"},
                                                 {"foo_rank", 16},
                                                 {"rope_theta", 500000},
                                                 {"pad_token_id", 7},
                                                 {"num_mtp_modules", 3}}));
  EXPECT_EQ(said(r),
            "num_mtp_modules is 3: layers that predict further tokens are left out; a training with them takes longer\n"
            "model_type \"novel\\n\" is not known: the model is read like a llama, and these numbers are not read: "
            "\"foo_rank\"\n");
  EXPECT_EQ(costs::parameters(r.shape), costs::parameters(read(llama()).shape));
  EXPECT_EQ(said(read(llama())), "");
  EXPECT_EQ(said(read(without(llama(), "model_type"))), "model_type is left out: the model is read like a llama\n");
  EXPECT_EQ(said(reading("zai-org--GLM-5.1")),
            "num_nextn_predict_layers is 1: layers that predict further tokens are left out; a training with them "
            "takes longer\n");
}

TEST(ModelKinds, HaveDefaultsOfTheirFamily) {
  const auto of = [](const char* type, const json& changes = json::object()) {
    json c = without(llama(), "tie_word_embeddings");
    c.erase("hidden_act");
    return read(changed(changed(std::move(c), {{"model_type", type}}), changes)).shape;
  };
  for (const char* type : {"smollm3", "cohere", "gemma", "ernie4_5", "starcoder2", "gpt2", "opt", "bloom"})
    EXPECT_TRUE(of(type).tied) << type;
  for (const char* type : {"llama", "qwen2", "glm4", "phi3", "olmo2", "gpt_neox", "nemotron", "granite"})
    EXPECT_FALSE(of(type).tied) << type;
  for (const char* type : {"nemotron", "apertus", "starcoder2", "phi", "arcee"})
    EXPECT_FALSE(of(type, {{"hidden_act", "silu"}}).gated) << type;
  for (const char* type : {"glm", "phi3", "cohere", "bitnet"})
    EXPECT_TRUE(of(type, {{"hidden_act", "relu2"}}).gated) << type;
  json bare = without(llama(), "num_key_value_heads");
  bare.erase("head_dim");
  EXPECT_EQ(read(changed(bare, {{"model_type", "glm4"}})).shape.kv_heads, 2);
  EXPECT_EQ(read(changed(bare, {{"model_type", "qwen3"}, {"hidden_size", 2048}})).shape.head_dim, 128);
  EXPECT_EQ(read(changed(bare, {{"model_type", "qwen3"}, {"hidden_size", 2048}, {"head_dim", nullptr}})).shape.head_dim,
            64);
  EXPECT_EQ(read(changed(llama(), {{"model_type", "qwen"}, {"intermediate_size", 22016}})).shape.intermediate, 11008);
}

TEST(ModelKinds, HaveWindowsWhereTheConfigSaysSo) {
  const attention_span window{mixing::window, 1000};
  const auto windows = [&](const json& changes) { return count(read(changed(llama(), changes)), window); };
  EXPECT_EQ(windows({{"sliding_window", 1000}}), 32);
  EXPECT_EQ(windows({{"sliding_window", 1000}, {"use_sliding_window", false}}), 0);
  EXPECT_EQ(windows({{"sliding_window", 1000}, {"use_sliding_window", true}, {"max_window_layers", 24}}), 8);
  EXPECT_EQ(windows({{"sliding_window", 1000}, {"max_position_embeddings", 1000}}), 32);
  EXPECT_EQ(windows({{"sliding_window", nullptr}}), 0);
  EXPECT_EQ(windows({{"attention_window_size", 1000}}), 32);
  EXPECT_EQ(windows({{"interleaved_sliding_window", 1000}, {"sliding_window_pattern", 4}}), 24);
  EXPECT_EQ(windows({{"sliding_window", 1000}, {"_sliding_window_pattern", 2}}), 16);
  EXPECT_EQ(windows({{"sliding_window", 1000}, {"sliding_window_pattern", "LLLG"}}), 24);
  EXPECT_EQ(windows({{"sliding_window", 1000}, {"global_attn_every_n_layers", 8}}), 28);
  EXPECT_EQ(windows({{"sliding_window", 1000}, {"layer_types", std::vector<std::string>(32, "full_attention")}}), 0);
  std::vector<std::string> types(32, "full_attention");
  types[3] = "sliding_attention";
  EXPECT_EQ(mixer_of(read(changed(llama(), {{"sliding_window", 1000}, {"layer_types", types}})), 3).span, window);
  std::vector<int> flags(32);
  flags[5] = flags[6] = 1;
  EXPECT_EQ(windows({{"sliding_window_size", 1000}, {"hybrid_layer_pattern", flags}}), 2);
  EXPECT_EQ(windows({{"model_type", "gemma2"}, {"sliding_window", 1000}}), 16);   // every second layer, by its class
  EXPECT_EQ(windows({{"model_type", "cohere2"}, {"sliding_window", 1000}}), 24);  // three of four
  EXPECT_EQ(windows({{"model_type", "qwen2"}, {"sliding_window", 1000}}), 0);     // none by its class
  EXPECT_EQ(count(read(changed(llama(), {{"model_type", "mistral"}})), {mixing::window, 4096}), 32);
  EXPECT_EQ(count(read(changed(llama(), {{"model_type", "mistral"}, {"sliding_window", nullptr}})), {}), 32);
}

TEST(ModelKinds, HaveChunksInLayersThatTurnPositions) {
  const attention_span chunk{mixing::chunks, 8192};
  EXPECT_EQ(count(read(changed(llama(), {{"attention_chunk_size", 8192}, {"no_rope_layer_interval", 4}})), chunk), 24);
  std::vector<int> flags(32, 1);
  flags[0] = 0;
  EXPECT_EQ(count(read(changed(llama(), {{"attention_chunk_size", 8192}, {"no_rope_layers", flags}})), chunk), 31);
  EXPECT_EQ(count(read(changed(llama(), {{"no_rope_layers", flags}})), {}), 32);
  EXPECT_EQ(count(read(changed(llama(), {{"attention_chunk_size", nullptr}, {"no_rope_layers", flags}})), {}), 32);
}

/// Layers with experts, as letters.
std::string experts_of(const json& changes) {
  const costs::model_shape m = read(changed(mixtral(), changes)).shape;
  std::string all;
  for (int i = 0; i < 8; ++i) all += m.is_moe(i) ? 'E' : 'd';
  return all;
}

TEST(ModelKinds, HaveExpertsInTheLayersThatTheConfigSays) {
  EXPECT_EQ(experts_of(json::object()), "EEEEEEEE");
  EXPECT_EQ(experts_of({{"first_k_dense_replace", 3}}), "dddEEEEE");
  EXPECT_EQ(experts_of({{"num_dense_layers", 2}}), "ddEEEEEE");
  EXPECT_EQ(experts_of({{"moe_layer_freq", 2}}), "EdEdEdEd");
  EXPECT_EQ(experts_of({{"moe_layer_freq", 2}, {"first_k_dense_replace", 1}}), "ddEdEdEd");
  std::vector<int> flags(32, 1);
  flags[0] = flags[4] = 0;
  EXPECT_EQ(experts_of({{"moe_layer_freq", flags}}), "dEEEdEEE");
  EXPECT_EQ(experts_of({{"decoder_sparse_step", 2}}), "dEdEdEdE");
  EXPECT_EQ(experts_of({{"decoder_sparse_step", 1}, {"mlp_only_layers", {1, 2}}}), "EddEEEEE");
  EXPECT_EQ(experts_of({{"interleave_moe_layer_step", 2}}), "dEdEdEdE");
  EXPECT_EQ(experts_of({{"interleave_moe_layer_step", 2}, {"moe_layers", {0, 3}}}), "EddEdddd");
  EXPECT_EQ(experts_of({{"moe_layers_enum", "4,5, 7"}}), "ddddEEdE");
  EXPECT_EQ(experts_of({{"expert_layer_period", 2}, {"expert_layer_offset", 1}}), "dEdEdEdE");
  EXPECT_EQ(experts_of({{"expert_layer_period", 4}, {"expert_layer_offset", 0}}), "EdddEddd");
  EXPECT_EQ(experts_of({{"moe_layer_start_index", 2}, {"moe_layer_end_index", 5}, {"moe_layer_interval", 1}}),
            "ddEEEEdd");
  EXPECT_EQ(experts_of({{"moe_layer_start_index", 1}, {"moe_layer_end_index", -1}, {"moe_layer_interval", 2}}),
            "dEdEdEdE");
  std::vector<std::string> kinds(32, "sparse");
  kinds[0] = "dense";
  EXPECT_EQ(experts_of({{"mlp_layer_types", kinds}}), "dEEEEEEE");
}

TEST(ModelKinds, HaveExpertsByAnyOfTheirNames) {
  json bare = mixtral();
  bare.erase("num_local_experts"), bare.erase("num_experts_per_tok");
  bare["model_type"] = "novel";
  for (const char* experts : {"n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts"})
    for (const char* chosen :
         {"num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_k", "moe_topk", "moe_top_k"}) {
      const costs::model_shape m =
          read(changed(bare, {{experts, 16}, {chosen, 4}, {"moe_intermediate_size", 1000}})).shape;
      EXPECT_EQ(std::make_tuple(m.experts, m.experts_per_token, m.expert_intermediate), std::make_tuple(16, 4, 1000))
          << experts << chosen;
    }
  const auto shared = [&](const json& changes) {
    return read(changed(changed(bare, {{"num_experts", 16}, {"moe_k", 4}, {"moe_intermediate_size", 1000}}), changes))
        .shape;
  };
  for (const char* key : {"n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "num_shared_expert"})
    EXPECT_EQ(shared({{key, 2}}).shared_experts, 2) << key;
  for (const char* key : {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
                          "shared_intermediate_size", "share_expert_dim"}) {
    EXPECT_EQ(shared({{key, 3000}}).shared_experts, 3) << key;
    EXPECT_EQ(shared({{key, 1500}}).shared_width(), 1500) << key;
    EXPECT_EQ(shared({{key, 0}}).shared_width(), 0) << key;
  }
  EXPECT_EQ(shared({{"n_shared_experts", 2}, {"moe_shared_expert_intermediate_size", 1500}}).shared_width(), 3000);
  EXPECT_EQ(shared({{"num_experts", 0}, {"shared_intermediate_size", 512}}).intermediate,
            512);  // granite without experts
  EXPECT_EQ(shared({{"num_experts", 0}}).experts, 0);
}

TEST(ModelKinds, OfLlama4HaveASharedExpertAndWiderDenseLayers) {
  json config = read_configs::config("meta-llama--Llama-4-Scout-17B-16E-Instruct");
  config["text_config"].update({{"interleave_moe_layer_step", 2}, {"num_local_experts", 128}});  // Maverick
  const costs::model_shape m = read(config).shape;
  EXPECT_FALSE(m.is_moe(0));
  EXPECT_TRUE(m.is_moe(1));
  EXPECT_EQ(m.intermediate, 16384);
  EXPECT_EQ(m.expert_intermediate, 8192);
  EXPECT_EQ(m.shared_experts, 1);
  EXPECT_NEAR(costs::parameters(m) / 1e9, 400.7, 0.05);  // published: 400, with towers 401.6
}

TEST(ModelKinds, WithNumbersByLayerAreRead) {
  std::vector<int> widths(32, 14336);
  EXPECT_EQ(read(changed(llama(), {{"intermediate_size", widths}})).shape, read(llama()).shape);
  widths[7] = 7168;
  const costs::model_shape m = read(changed(llama(), {{"intermediate_size", widths}})).shape;
  EXPECT_EQ(m.mlp_width(m.kind(7)), 7168);
  EXPECT_EQ(m.mlp_width(m.kind(8)), 14336);
  EXPECT_EQ(costs::parameters(read(llama()).shape) - costs::parameters(m), 3.0 * 4096 * 7168);
  widths.pop_back();
  EXPECT_EQ(refusal(changed(llama(), {{"intermediate_size", widths}})),
            "intermediate_size has size 31, expected 32, a width for each layer");
  EXPECT_EQ(read(changed(mixtral(), {{"moe_topk", std::vector<int>(32, 4)}, {"num_experts_per_tok", nullptr}}))
                .shape.experts_per_token,
            4);
}

}  // namespace
}  // namespace model_kinds_test
