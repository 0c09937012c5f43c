#ifndef SLIMPACK_IO_DETAIL_MODEL_UNPRICED_KEYS_HPP
#define SLIMPACK_IO_DETAIL_MODEL_UNPRICED_KEYS_HPP

#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/model/model_keys.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace slimpack::io::detail {

/// A key that changes what layers are made of, in a way that no cost model knows.
struct unpriced_key {
  const char* key;
  const char* meaning;
  std::string_view harmless{};  ///< a value, as JSON, that means the usual
  const char* unless{};         ///< where this key has the same value, it means the usual, too
};

/// The keys of models of another kind, which are refused before anything else is read.
/// Source    the configuration and modeling files of huggingface/transformers, and those published with weights
/// Rule      a key is refused that says something (says_something) other than the usual
inline constexpr unpriced_key always_unpriced[]{
    {"is_encoder_decoder", "an encoder runs before the decoder, with attention between both"},
    {"bidirectional", "tokens attend to later ones, too"},
    {"use_bidirectional_attention", "tokens attend to later ones, too", R"("vision")"},  // those of images alone
    {"block_types", "layers are recurrent and attention in turn"},
    {"share_q_dim", "queries come from a projection of a low rank"},
    {"linear_attention", "layers have a state of matrices that are not known"},
    {"expand_v", "layers have a state of matrices that are not known"},
    {"use_short_conv", "layers have a state of matrices that are not known"},
    {"shared_blocks", "several layers share one block of attention"},
    {"moe_latent_size", "experts work on hidden states of a width of their own"},
    {"routed_expert_hidden_size", "experts work on hidden states of a width of their own", {}, "hidden_size"},
    {"differential_attention", "attention is the difference of two, with values that are twice as wide as keys"},
    {"visual_experts", "layers have matrices of their own for images"},
    {"mean_recurrence", "some layers run several times"},
    {"ffn_multipliers", "layers have MLPs of widths of their own, and heads as a list says"},
    {"conv_L_cache", "layers are short convolutions and attention in turn"},
    {"lru_width", "layers are recurrent"},
    {"altup_num_inputs", "layers run on several streams of hidden states"},
    {"zero_expert_num", "some experts compute nothing, and a layer has two attentions"},
};

/// The keys that are refused once the layers are told apart. Rule as above.
inline constexpr unpriced_key unpriced_keys[]{
    {"add_cross_attention", "layers attend to the output of an encoder, too"},
    {"cross_attention_layers", "these layers attend to images instead of the text"},
    {"parallel_mamba", "each layer has a state-space model beside its attention"},
    {"mamba_d_ssm", "each layer has a state-space model beside its attention"},
    {"num_kv_shared_layers", "the last layers use keys and values of layers before them"},
    {"use_cla", "layers use keys and values of layers before them"},
    {"compress_ratios", "attention is to compressed keys"},
    {"hc_mult", "layers run on several streams of hidden states", "1"},
    {"hidden_size_per_layer_input", "each layer has an embedding of its own"},
    {"laurel_rank", "layers have a low-rank branch beside"},
    {"attention_k_eq_v", "keys and values share a projection"},
    {"attention_other_setting", "layers with a window have other heads"},
    {"use_double_wide_mlp", "some MLPs are twice as wide"},
    {"enable_moe_block", "layers have experts beside their MLP"},
    {"parallel_attn_mlp_res", "each layer has an MLP beside its experts"},
    {"residual_moe", "each layer has an MLP beside its experts"},
    {"attention_of_experts", "attention has experts, too"},
    {"attention_types", "layers attend as this list says"},
    {"blocksparse_block_size", "attention leaves out blocks"},
    {"sparse_config", "attention leaves out blocks"},
    {"sparse_attention_config", "attention leaves out blocks"},
    {"moba_topk", "attention leaves out blocks"},
    {"o_lora_rank", "the output projection has a low rank"},
    {"total_ut_steps", "the layers run several times", "1"},
    {"word_embed_proj_dim", "embeddings have a width of their own", {}, "hidden_size"},
};

/// Keys of layers with a state, where no key says which layers these are.
inline constexpr unpriced_key keys_of_states[]{
    {"mamba_d_state", "no key says which layers have a state"},
    {"mamba_num_heads", "no key says which layers have a state"},
    {"ssm_state_size", "no key says which layers have a state"},
    {"state_size", "no key says which layers have a state"},
    {"ssm_cfg", "no key says which layers have a state"},
    {"linear_num_value_heads", "no key says which layers have a state"},
};

[[noreturn]] inline void refuse_layers(const std::string& key, const std::string& meaning) {
  throw malformed(key + ": " + meaning + ", which is not priced; give times of its stages instead");
}

/// Keys of lists by layer, under any name: num_attention_heads_per_layer.
/// Errors    malformed: one whose layers differ
inline void refuse_unlike_layers(const model_keys& keys) {
  constexpr std::string_view suffix = "_per_layer";
  for (const auto& member : keys.config().raw().items()) {
    const std::string& name = member.key();
    const json& list = member.value();
    if (name.size() <= suffix.size() || name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0) continue;
    if (list.is_array() && std::any_of(list.begin(), list.end(), [&](const json& one) { return one != list.front(); }))
      refuse_layers(keys.way() + model_keys::quoted(json(name)) + " is " + model_keys::shown(list),
                    "layers differ in it");
  }
}

/// Errors    malformed: a key of `table` that matters
template <class Table>
void refuse_unpriced(const model_keys& keys, const Table& table) {
  for (const unpriced_key& row : table) {
    const std::optional<json_place> at = keys.telling({row.key});
    if (!at) continue;
    if (!row.harmless.empty() && at->raw() == json::parse(row.harmless)) continue;
    if (row.unless != nullptr)
      if (const std::optional<json_place> same = keys.find({row.unless}); same && same->raw() == at->raw()) continue;
    refuse_layers(keys.described({row.key}), row.meaning);
  }
}

}  // namespace slimpack::io::detail

#endif
