#ifndef SLIMPACK_IO_DETAIL_MODEL_MODEL_FAMILIES_HPP
#define SLIMPACK_IO_DETAIL_MODEL_MODEL_FAMILIES_HPP

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace slimpack::io::detail {

/// Whether the MLP has a gate matrix. The activation does not say it: a llama with gelu has one, too.
enum class mlp { gated, plain };

/// What a config.json leaves to the code of its model family.
struct model_family {
  std::string_view types;       ///< model_type, or several with a space between; *_x: those that end with _x
  detail::mlp mlp{};            ///< of each layer, and of each expert
  std::string_view defaults{};  ///< keys that a config may leave out, and what the family's class takes for them
  /// The same of dimensions. Only a config inside another one leaves these out: the writer of Hugging Face's files
  /// drops what equals the default there, and at the top never. num_key_value_heads is taken in both: there a class has
  /// either this number or as many as heads.
  std::string_view dimensions{};
};

/// Source    the configuration classes of huggingface/transformers, src/transformers/models/*/configuration_*.py of
///           2025 and 2026, and what their modeling files do with them; of chatglm, qwen, minicpm and others the
///           classes that are published with their weights
/// Rule      a row for each family. A key that no class has, as bidirectional, says what the class does in any case
inline constexpr model_family model_families[]{
    {"llama llamafied_qwen aquila yi internlm internlm2 internlm3 baichuan xverse orion telechat solar plamo "
     "sparsellama",
     mlp::gated, R"({"tie_word_embeddings": false})",
     R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
         "num_attention_heads": 32})"},
    {"llama4_text llama4", mlp::gated,
     R"({"tie_word_embeddings": false, "num_shared_experts": 1, "num_local_experts": 16,
         "num_experts_per_tok": 1, "interleave_moe_layer_step": 1, "attention_chunk_size": 8192,
         "no_rope_layer_interval": 4})",
     R"({"vocab_size": 202048, "hidden_size": 5120, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
         "head_dim": 128, "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8,
         "max_position_embeddings": 131072})"},
    {"mllama_text_model mllama", mlp::gated,
     R"({"tie_word_embeddings": false, "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38]})"},
    {"mistral mistral3", mlp::gated, R"({"tie_word_embeddings": false, "sliding_window": 4096})",
     R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 131072})"},
    {"ministral ministral3", mlp::gated, R"({"tie_word_embeddings": false})"},
    {"mixtral", mlp::gated, R"({"tie_word_embeddings": false, "num_local_experts": 8, "num_experts_per_tok": 2})",
     R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 8})"},
    {"qwen", mlp::gated, R"({"tie_word_embeddings": false, "intermediate_parts": 2})"},
    {"qwen2", mlp::gated,
     R"({"tie_word_embeddings": false, "use_sliding_window": false, "sliding_window": 4096,
         "max_window_layers": 28})",
     R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 32, "max_position_embeddings": 32768})"},
    {"qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_5_omni_text", mlp::gated,
     R"({"tie_word_embeddings": false, "use_sliding_window": false, "sliding_window": 4096,
         "max_window_layers": 80})",
     R"({"vocab_size": 152064, "hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80,
         "num_attention_heads": 64, "num_key_value_heads": 8, "max_position_embeddings": 32768})"},
    {"qwen2_moe", mlp::gated,
     R"({"tie_word_embeddings": false, "use_sliding_window": false, "sliding_window": 4096,
         "num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408,
         "shared_expert_intermediate_size": 5632})"},
    {"qwen3", mlp::gated, R"({"tie_word_embeddings": false, "head_dim": 128, "use_sliding_window": false})",
     R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 32})"},
    {"qwen3_vl_text", mlp::gated, R"({"tie_word_embeddings": false, "head_dim": 128})",
     R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 32, "max_position_embeddings": 128000})"},
    {"qwen3_moe qwen3_omni_moe_text qwen3_omni_moe_thinker_text", mlp::gated,
     R"({"tie_word_embeddings": false,
         "use_sliding_window": false, "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768,
         "decoder_sparse_step": 1})",
     R"({"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 24,
         "num_attention_heads": 32, "num_key_value_heads": 4, "max_position_embeddings": 32768})"},
    {"qwen3_vl_moe_text", mlp::gated, R"({"tie_word_embeddings": false, "num_experts": 60,
         "num_experts_per_tok": 4, "moe_intermediate_size": 1408, "decoder_sparse_step": 1})",
     R"({"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 24,
         "num_attention_heads": 16, "num_key_value_heads": 16, "max_position_embeddings": 128000})"},
    {"qwen3_next", mlp::gated,
     R"({"tie_word_embeddings": false, "attn_output_gate": true, "head_dim": 256, "full_attention_interval": 4,
         "num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 512,
         "shared_expert_intermediate_size": 512,
         "linear_num_value_heads": 32, "linear_num_key_heads": 16, "linear_key_head_dim": 128,
         "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4})"},
    {"qwen3_5_text", mlp::gated,
     R"({"tie_word_embeddings": false, "attn_output_gate": true, "head_dim": 256, "full_attention_interval": 4,
         "linear_num_value_heads": 32, "linear_num_key_heads": 16, "linear_key_head_dim": 128,
         "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4})"},
    {"qwen3_5_moe_text", mlp::gated,
     R"({"tie_word_embeddings": false, "attn_output_gate": true, "head_dim": 256, "full_attention_interval": 4,
         "num_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 512,
         "shared_expert_intermediate_size": 512,
         "linear_num_value_heads": 32, "linear_num_key_heads": 16, "linear_key_head_dim": 128,
         "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4})"},
    {"gemma", mlp::gated, R"({"tie_word_embeddings": true, "head_dim": 256})",
     R"({"vocab_size": 256000, "hidden_size": 3072, "intermediate_size": 24576, "num_hidden_layers": 28,
         "num_attention_heads": 16, "num_key_value_heads": 16, "max_position_embeddings": 8192})"},
    {"gemma2 vaultgemma", mlp::gated,
     R"({"tie_word_embeddings": true, "head_dim": 256, "sliding_window": 4096, "sliding_window_pattern": 2})",
     R"({"vocab_size": 256000, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
         "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 8192})"},
    {"gemma3_text gemma3", mlp::gated,
     R"({"tie_word_embeddings": true, "head_dim": 256, "sliding_window": 4096, "sliding_window_pattern": 6})",
     R"({"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
         "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 131072})"},
    {"gemma3n_text gemma3n", mlp::gated, R"({"tie_word_embeddings": true, "altup_num_inputs": 4})"},
    {"gemma4_text gemma4", mlp::gated,
     R"({"tie_word_embeddings": true, "head_dim": 256, "global_head_dim": 512, "sliding_window": 512,
         "sliding_window_pattern": 6, "hidden_size_per_layer_input": 256})"},
    {"cohere", mlp::gated, R"({"tie_word_embeddings": true})",
     R"({"vocab_size": 256000, "hidden_size": 8192, "intermediate_size": 22528, "num_hidden_layers": 40,
         "num_attention_heads": 64})"},
    {"cohere2", mlp::gated, R"({"tie_word_embeddings": true, "sliding_window": 4096, "sliding_window_pattern": 4})",
     R"({"vocab_size": 256000, "hidden_size": 8192, "intermediate_size": 22528, "num_hidden_layers": 40,
         "num_attention_heads": 64, "max_position_embeddings": 8192})"},
    {"phi phi-msft nanochat codegen gptj persimmon gpt_neox gpt_neox_japanese nemotron arcee apertus", mlp::plain,
     R"({"tie_word_embeddings": false})"},
    {"gpt2 gpt3 opt bloom xglm biogpt mpt RefinedWeb", mlp::plain, R"({"tie_word_embeddings": true})"},
    {"starcoder2", mlp::plain, R"({"tie_word_embeddings": true})", R"({"num_key_value_heads": 2})"},
    {"gpt_neo", mlp::plain, R"({"tie_word_embeddings": true, "attention_types": "global and local layers in turn"})"},
    {"gpt_bigcode falcon RefinedWebModel", mlp::plain, R"({"tie_word_embeddings": true, "multi_query": true})"},
    {"phi3 phi3_v phi4mm", mlp::gated, R"({"tie_word_embeddings": false})",
     R"({"vocab_size": 32064, "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32,
         "num_attention_heads": 32})"},
    {"phimoe", mlp::gated, R"({"tie_word_embeddings": false, "num_local_experts": 16, "num_experts_per_tok": 2})",
     R"({"num_key_value_heads": 8})"},
    {"stablelm olmo olmo2 granite helium bitnet seed_oss hunyuan_v1_dense youtu mimo", mlp::gated,
     R"({"tie_word_embeddings": false})"},
    {"smollm3", mlp::gated, R"({"tie_word_embeddings": true})", R"({"num_key_value_heads": 4})"},
    {"minicpm exaone", mlp::gated, R"({"tie_word_embeddings": true})"},
    {"minicpm3", mlp::gated, R"({"tie_word_embeddings": true, "v_head_dim": 64})"},
    {"molmo", mlp::gated, R"({"tie_word_embeddings": false, "intermediate_parts": 2})"},
    {"hf_olmo", mlp::gated, R"({"tie_word_embeddings": true, "intermediate_parts": 2})"},
    {"olmo3", mlp::gated, R"({"tie_word_embeddings": false, "sliding_window": 4096, "sliding_window_pattern": 4})"},
    {"olmoe flex_olmo", mlp::gated, R"({"tie_word_embeddings": false, "num_experts": 64, "num_experts_per_tok": 8})"},
    {"exaone4", mlp::gated, R"({"tie_word_embeddings": false, "sliding_window": 4096, "sliding_window_pattern": 4})"},
    {"granitemoe", mlp::gated, R"({"tie_word_embeddings": false, "num_local_experts": 8, "num_experts_per_tok": 2})"},
    {"granitemoeshared", mlp::gated,
     R"({"tie_word_embeddings": false, "num_local_experts": 8, "num_experts_per_tok": 2})"},
    {"granitemoehybrid", mlp::gated, R"({"tie_word_embeddings": false, "num_local_experts": 8, "num_experts_per_tok": 2,
         "shared_intermediate_size": 1024, "mamba_d_state": 256, "mamba_n_heads": 128, "mamba_n_groups": 1,
         "mamba_expand": 2, "mamba_d_head": "auto", "mamba_d_conv": 4, "mamba_chunk_size": 256})"},
    {"glm glm4 glm4v_text", mlp::gated, R"({"tie_word_embeddings": false, "head_dim": 128, "num_key_value_heads": 2})",
     R"({"vocab_size": 151552, "hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40,
         "num_attention_heads": 32})"},
    {"glm4_moe glm4v_moe_text", mlp::gated,
     R"({"tie_word_embeddings": false, "n_routed_experts": 128, "n_shared_experts": 1,
         "num_experts_per_tok": 8, "moe_intermediate_size": 1408, "first_k_dense_replace": 1})",
     R"({"vocab_size": 151552, "hidden_size": 4096, "intermediate_size": 10944, "num_hidden_layers": 46,
         "num_attention_heads": 96, "num_key_value_heads": 8})"},
    {"glm_moe_dsa", mlp::gated,
     R"({"tie_word_embeddings": false, "n_shared_experts": 1, "first_k_dense_replace": 3, "index_topk": 2048,
         "index_n_heads": 32, "index_head_dim": 128})"},
    {"deepseek_v2", mlp::gated,
     R"({"tie_word_embeddings": false, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
         "qk_rope_head_dim": 64, "v_head_dim": 128})"},
    {"deepseek deepseek_v3 kimi_k2 dots1 bailing_moe bailing_moe_v2 glm4_moe_lite", mlp::gated,
     R"({"tie_word_embeddings": false})"},
    {"deepseek_v32", mlp::gated,
     R"({"tie_word_embeddings": false, "index_topk": 2048, "index_n_heads": 64, "index_head_dim": 128})"},
    {"gpt_oss", mlp::gated,
     R"({"tie_word_embeddings": false, "head_dim": 64, "num_key_value_heads": 8, "num_local_experts": 128,
         "num_experts_per_tok": 4, "sliding_window": 128, "sliding_window_pattern": 2})"},
    {"ernie4_5", mlp::gated, R"({"tie_word_embeddings": true, "head_dim": 128})", R"({"num_key_value_heads": 4})"},
    {"ernie4_5_moe", mlp::gated,
     R"({"tie_word_embeddings": true, "moe_num_experts": 64, "moe_k": 6, "moe_num_shared_experts": 2,
         "moe_intermediate_size": 1536, "moe_layer_start_index": 1, "moe_layer_end_index": -1,
         "moe_layer_interval": 1})",
     R"({"num_key_value_heads": 4})"},
    {"hunyuan_v1_moe hunyuan", mlp::gated, R"({"tie_word_embeddings": false, "num_experts": 1})"},
    {"minimax", mlp::gated,
     R"({"tie_word_embeddings": false, "num_local_experts": 8, "num_experts_per_tok": 2,
         "full_attention_interval": 2, "lightning": true})"},
    {"minimax_m1 minimax_text_01 bailing_moe_linear", mlp::gated,
     R"({"tie_word_embeddings": false, "lightning": true})"},
    {"kimi_linear", mlp::gated, R"({"tie_word_embeddings": false})"},
    {"nemotron-nas", mlp::gated, R"({"tie_word_embeddings": false})"},
    {"minimax_m2", mlp::gated,
     R"({"tie_word_embeddings": false, "num_local_experts": 256, "num_experts_per_tok": 8, "head_dim": 128})",
     R"({"num_key_value_heads": 8})"},
    {"mimo_v2_flash", mlp::gated, R"({"tie_word_embeddings": false})"},
    {"afmoe", mlp::gated,
     R"({"tie_word_embeddings": false, "num_experts": 64, "num_experts_per_tok": 6, "num_shared_experts": 2,
         "moe_intermediate_size": 1408, "num_dense_layers": 1, "head_dim": 128, "attn_output_gate": true,
         "sliding_window": 1024,
         "global_attn_every_n_layers": 4})"},
    {"longcat_flash", mlp::gated, R"({"tie_word_embeddings": false, "zero_expert_num": 256})"},
    {"dbrx", mlp::gated, R"({"tie_word_embeddings": false})"},
    {"chatglm", mlp::gated, R"({"tie_word_embeddings": false})"},
    {"jamba", mlp::gated,
     R"({"tie_word_embeddings": false, "attn_layer_period": 8, "attn_layer_offset": 4, "expert_layer_period": 2,
         "expert_layer_offset": 1, "num_experts": 16, "num_experts_per_tok": 2, "mamba_d_state": 16,
         "mamba_expand": 2, "mamba_d_conv": 4, "mamba_dt_rank": "auto"})",
     R"({"num_key_value_heads": 8})"},
    {"bamba", mlp::gated,
     R"({"tie_word_embeddings": false, "mamba_d_state": 256, "mamba_n_heads": 128, "mamba_n_groups": 1,
         "mamba_expand": 2, "mamba_d_head": "auto", "mamba_d_conv": 4, "mamba_chunk_size": 256})"},
    {"falcon_h1", mlp::gated, R"({"parallel_mamba": true})"},
    {"lfm2 lfm2_moe", mlp::gated, R"({"conv_L_cache": 3})"},
    {"mamba falcon_mamba", mlp::plain,
     R"({"tie_word_embeddings": true, "all_states": true, "state_size": 16, "conv_kernel": 4, "expand": 2,
         "time_step_rank": "auto"})"},
    {"mamba2", mlp::plain,
     R"({"tie_word_embeddings": false, "all_states": true, "dual": true, "num_heads": 128, "head_dim": 64,
         "state_size": 128, "n_groups": 8, "conv_kernel": 4, "expand": 2, "chunk_size": 256})"},
    {"zamba zamba2", mlp::gated, R"({"shared_blocks": true})"},
    {"rwkv rwkv5 rwkv6 rwkv7 xlstm plamo2 hymba phi4flash", mlp::plain, R"({"linear_attention": true})"},
    {"recurrent_gemma", mlp::gated, R"({"lru_width": 2560})"},
    {"nemotron_h", mlp::plain,
     R"({"tie_word_embeddings": false, "head_dim": 128, "mamba_num_heads": 128, "mamba_head_dim": 64,
         "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4, "chunk_size": 128})"},
    {"jetmoe", mlp::gated, R"({"attention_of_experts": true})"},
    {"modernbert-decoder", mlp::gated,
     R"({"tie_word_embeddings": true, "local_attention": 128, "global_attn_every_n_layers": 3})"},
    {"gated_deltanet gated_deltaproduct deltanet delta_net gla retnet gsa hgrn hgrn2 abc based linear_attn lightnet "
     "comba kda mesa_net log_linear_mamba2",
     mlp::gated, R"({"linear_attention": true})"},
    {"diffllama Motif motif", mlp::gated, R"({"differential_attention": true})"},
    {"cogvlm cogvlm2 cogagent", mlp::gated, R"({"visual_experts": true})"},
    {"huginn_raven", mlp::gated, R"({"mean_recurrence": 32})"},
    {"bert roberta xlm-roberta camembert distilbert albert electra deberta deberta-v2 modernbert mpnet nomic_bert "
     "eurobert",
     mlp::plain, R"({"bidirectional": true})"},
    {"llada Dream dream sdar *_bidirec *_bidirectional", mlp::gated, R"({"bidirectional": true})"},
    {"t5 mt5 umt5 bart mbart pegasus whisper marian m2m_100 led longt5 switch_transformers t5gemma", mlp::plain,
     R"({"is_encoder_decoder": true})"},
};

/// What is taken for a model_type without a row: the MLPs of a llama, and the default of all classes of transformers.
inline constexpr model_family unknown_family{{}, mlp::gated, R"({"tie_word_embeddings": true})"};

/// Whether `name` of a row means this model_type.
[[nodiscard]] constexpr bool names_type(std::string_view name, std::string_view type) noexcept {
  if (name.substr(0, 1) != "*") return name == type;
  name.remove_prefix(1);
  return type.size() >= name.size() && type.substr(type.size() - name.size()) == name;
}

/// The family that a model_type belongs to; null where it has no row.
[[nodiscard]] constexpr const model_family* family_named(std::string_view type) noexcept {
  if (type.empty()) return nullptr;
  for (const model_family& family : model_families)
    for (std::string_view rest = family.types; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      if (names_type(rest.substr(0, end), type)) return &family;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  return nullptr;
}

}  // namespace slimpack::io::detail

#endif
