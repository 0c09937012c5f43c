#ifndef SLIMPACK_IO_DETAIL_MODEL_READ_DIMENSIONS_HPP
#define SLIMPACK_IO_DETAIL_MODEL_READ_DIMENSIONS_HPP

#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/model/model_keys.hpp>
#include <slimpack/io/detail/model/unpriced_keys.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace slimpack::io::detail {

// Far beyond any model, and small enough that parameters and their bytes stay within 64 bits.
inline constexpr std::int64_t most_layers = 2048;
inline constexpr std::int64_t widest = std::int64_t{1} << 20;
inline constexpr std::int64_t most_experts = 1024;
inline constexpr std::int64_t most_tokens = 2147483647;

inline constexpr model_keys::names layers_names{"num_hidden_layers", "n_layer", "n_layers", "num_layers",
                                                "num_transformer_layers"};
inline constexpr model_keys::names hidden_names{"hidden_size", "n_embd", "d_model", "model_dim"};
inline constexpr model_keys::names heads_names{"num_attention_heads", "n_head", "n_heads", "num_heads",
                                               "num_query_heads"};
inline constexpr model_keys::names kv_heads_names{"num_key_value_heads", "num_kv_heads",          "n_head_kv",
                                                  "kv_n_heads",          "multi_query_group_num", "n_kv_heads"};
inline constexpr model_keys::names head_width_names{"head_dim", "attention_head_dim", "kv_channels"};
inline constexpr model_keys::names mlp_width_names{"intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size",
                                                   "mlp_hidden_size"};
inline constexpr model_keys::names positions_names{"max_position_embeddings", "n_positions", "max_seq_len",
                                                   "seq_length", "max_sequence_length"};

inline constexpr model_keys::names tied_names{"tie_word_embeddings", "tie_embedding", "tie_embeddings", "weight_tying"};
inline constexpr model_keys::names activation_names{"hidden_act", "hidden_activation", "activation_function",
                                                    "activation_type", "activation"};

/// Whether the MLP has a gate matrix, as the family says.
[[nodiscard]] inline bool is_gated(const model_keys& keys) {
  return (keys.family() != nullptr ? *keys.family() : unknown_family).mlp == mlp::gated;
}

/// What the config says of it, first the language model's and then the whole one's.
[[nodiscard]] inline std::optional<json_place> said_of_tying(const model_keys& keys, const json_place& root) {
  std::optional<json_place> own = keys.config().find(tied_names);
  return own ? own : root.find(tied_names);
}

/// What the config says, then what the family does; otherwise embeddings are two.
[[nodiscard]] inline bool is_tied(const model_keys& keys, const json_place& root) {
  if (const std::optional<json_place> said = said_of_tying(keys, root)) return said->boolean();
  const std::optional<json_place> usual = keys.find(tied_names);
  return usual && usual->boolean();
}

/// Rows of the embedding.
/// Rule      An embedding_size of at least as many is the number of words with padding (olmo, molmo)
/// Errors    malformed: an embedding_size that is a width of its own
[[nodiscard]] inline std::int64_t vocabulary_of(const model_keys& keys) {
  const std::int64_t words = keys.need({"vocab_size", "padded_vocab_size"}).integer(1, most_tokens);
  const std::optional<json_place> size = keys.telling({"embedding_size"});
  if (!size) return words;
  const std::int64_t rows = size->integer(1, most_tokens);
  if (rows >= words) return rows;
  if (const json_place width = keys.need(hidden_names); width.raw() != size->raw())
    refuse_layers(keys.described({"embedding_size"}), "embeddings have a width of their own");
  return words;
}

[[nodiscard]] inline int kv_heads_of(const model_keys& keys, int heads) {
  if (keys.flag("multi_query") && !keys.flag("new_decoder_architecture")) return 1;  // falcon 7b, gpt_bigcode
  const std::optional<json_place> given = keys.find(kv_heads_names);
  if (!given) return heads;
  const json& number = given->raw();
  if (!keys.config().find(kv_heads_names) && number.is_number_integer() &&
      (number > heads || heads % number.get<int>() != 0))
    throw malformed(keys.described(kv_heads_names) + ": these do not divide the " + std::to_string(heads) +
                    " attention heads; give num_key_value_heads");
  const int count = model_keys::integer<int>(*given, 1, heads);
  if (heads % count != 0) given->expected("a divisor of the " + std::to_string(heads) + " attention heads");
  return count;
}

/// The heads of attention, which layers with a window, say, may have otherwise (read_mixers.hpp).
inline void read_attention(const model_keys& keys, costs::model_shape& m) {
  const json_place heads = keys.need(heads_names);
  m.heads = model_keys::integer<int>(heads, 1, widest);
  const std::optional<json_place> uses_latent = keys.find({"use_mla"});
  const std::optional<json_place> latent = keys.telling({"kv_lora_rank"});
  if (latent && !(uses_latent && !uses_latent->boolean())) {
    // MLA: every head has keys and values of its own, whatever num_key_value_heads says
    m.kv_rank = latent->integer(1, widest);
    if (const std::optional<json_place> rank = keys.find({"q_lora_rank"})) m.query_rank = rank->integer(1, widest);
    m.kv_heads = m.heads;
    m.rope_dim = keys.need({"qk_rope_head_dim"}).integer(1, widest);
    m.head_dim = keys.need({"qk_nope_head_dim"}).integer(1, widest) + m.rope_dim;
    m.value_dim = keys.need({"v_head_dim"}).integer(1, widest);
  } else {
    m.kv_heads = kv_heads_of(keys, m.heads);
    const std::optional<json_place> width = keys.find(head_width_names);
    if (!width && m.hidden % m.heads != 0)
      heads.expected("a divisor of hidden_size (" + std::to_string(m.hidden) + "), or a head_dim");
    m.head_dim = width ? model_keys::integer(*width, 1, widest) : m.hidden / m.heads;
    const std::optional<json_place> value = keys.telling({"v_head_dim"});
    m.value_dim = value ? model_keys::integer(*value, 1, widest) : m.head_dim;
  }
  m.output_gate = keys.telling({"attn_output_gate", "mla_use_output_gate"}).has_value();
  if (m.heads * std::max(m.head_dim, m.value_dim) > widest)
    heads.expected("heads x head width of at most " + std::to_string(widest));
}

}  // namespace slimpack::io::detail

#endif
