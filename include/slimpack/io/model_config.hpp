#ifndef SLIMPACK_IO_MODEL_CONFIG_HPP
#define SLIMPACK_IO_MODEL_CONFIG_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/open.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace slimpack::io {

namespace detail {

// Far beyond any model, and small enough that parameters and their bytes stay within 64 bits.
inline constexpr std::int64_t most_layers = 2048;
inline constexpr std::int64_t widest = std::int64_t{1} << 20;
inline constexpr std::int64_t most_experts = 1024;
inline constexpr std::int64_t most_tokens = 2147483647;

/// What a config.json leaves to the code of its model family.
struct model_family {
  bool gated{};  ///< the MLP has a gate matrix
  bool tied{};   ///< input and output embeddings are one, where tie_word_embeddings is absent
};

/// Rule      gpt2, gpt_neo, gpt_neox, gptj, gpt_bigcode, opt, bloom, falcon and phi are plain, whatever the
///           activation; gemma and its successors are gated, with gelu (GeGLU); any other is gated when the activation
///           is silu (SwiGLU) and plain when it is gelu, relu and the like. Plain families and gemma tie embeddings.
[[nodiscard]] inline model_family family_of(const json_place& config) {
  const std::optional<json_place> type = config.find({"model_type"});
  const std::string_view name = type ? std::string_view{type->text()} : std::string_view{};
  constexpr std::array<std::string_view, 9> plain{"gpt2", "gpt_neo", "gpt_neox", "gptj", "gpt_bigcode",
                                                  "opt",  "bloom",   "falcon",   "phi"};
  if (std::find(plain.begin(), plain.end(), name) != plain.end()) return {.gated = false, .tied = true};
  if (name.substr(0, 5) == "gemma") return {.gated = true, .tied = true};
  const std::string_view activation =
      config.need({"hidden_act", "hidden_activation", "activation_function", "activation"}).text();
  const bool gated = activation == "silu" || activation == "swish" || activation == "swiglu" || activation == "geglu";
  return {.gated = gated, .tied = !gated};
}

[[nodiscard]] inline int kv_heads_of(const json_place& config, int heads) {
  const std::optional<json_place> multi_query = config.find({"multi_query"});  // falcon 7b, gpt_bigcode
  const std::optional<json_place> newer = config.find({"new_decoder_architecture"});
  if (multi_query && multi_query->boolean() && !(newer && newer->boolean())) return 1;
  const std::optional<json_place> given = config.find({"num_key_value_heads", "num_kv_heads"});
  if (!given) return heads;
  const int count = given->integer<int>(1, heads);
  if (heads % count != 0) given->expected("a divisor of the " + std::to_string(heads) + " attention heads");
  return count;
}

inline void read_attention(const json_place& config, costs::model_shape& m) {
  const json_place heads = config.need({"num_attention_heads", "n_head"});
  m.heads = heads.integer<int>(1, widest);
  const std::optional<json_place> latent = config.find({"kv_lora_rank"});
  if (latent) {  // MLA: every head has keys and values of its own, whatever num_key_value_heads says
    m.kv_rank = latent->integer(1, widest);
    if (const std::optional<json_place> rank = config.find({"q_lora_rank"})) m.query_rank = rank->integer(1, widest);
    m.kv_heads = m.heads;
    m.rope_dim = config["qk_rope_head_dim"].integer(1, widest);
    m.head_dim = config["qk_nope_head_dim"].integer(1, widest) + m.rope_dim;
    m.value_dim = config["v_head_dim"].integer(1, widest);
  } else {
    m.kv_heads = kv_heads_of(config, m.heads);
    const std::optional<json_place> width = config.find({"head_dim"});
    if (!width && m.hidden % m.heads != 0)
      heads.expected("a divisor of hidden_size (" + std::to_string(m.hidden) + "), or a head_dim");
    m.head_dim = width ? width->integer(1, widest) : m.hidden / m.heads;
    m.value_dim = m.head_dim;
  }
  if (m.heads * std::max(m.head_dim, m.value_dim) > widest)
    heads.expected("heads x head width of at most " + std::to_string(widest));
}

/// Experts stand in every layer from dense_layers on; other patterns are refused, since they would be priced wrongly.
inline void read_experts(const json_place& config, costs::model_shape& m) {
  const std::optional<json_place> experts = config.find({"n_routed_experts", "num_local_experts", "num_experts"});
  if (!experts) return;
  m.experts = experts->integer<int>(1, most_experts);
  m.experts_per_token = config["num_experts_per_tok"].integer<int>(1, m.experts);
  const std::optional<json_place> width = config.find({"moe_intermediate_size"});
  m.expert_intermediate = width ? width->integer(1, widest) : m.intermediate;
  if (const std::optional<json_place> shared = config.find({"n_shared_experts"}))
    m.shared_experts = shared->integer<int>(0, most_experts);
  if (const std::optional<json_place> shared = config.find({"shared_expert_intermediate_size"})) {
    const std::int64_t total = shared->integer(1, widest);
    if (total % m.expert_intermediate != 0)
      shared->expected("a multiple of the experts' width, " + std::to_string(m.expert_intermediate));
    m.shared_experts = static_cast<int>(total / m.expert_intermediate);
  }
  if (const std::optional<json_place> dense = config.find({"first_k_dense_replace"}))
    m.dense_layers = dense->integer<int>(0, m.layers);
  if (const std::optional<json_place> every = config.find({"moe_layer_freq", "decoder_sparse_step"}))
    static_cast<void>(every->integer(1, 1));
  if (const std::optional<json_place> dense = config.find({"mlp_only_layers"}))
    dense->must_have(0, "experts in every layer after the first dense ones");
}

[[nodiscard]] inline costs::model_shape model_of(const json_place& config) {
  costs::model_shape m;
  m.layers = config.need({"num_hidden_layers", "n_layer"}).integer<int>(1, most_layers);
  m.hidden = config.need({"hidden_size", "n_embd"}).integer(1, widest);
  m.vocabulary = config["vocab_size"].integer(1, most_tokens);
  read_attention(config, m);
  const model_family family = family_of(config);
  m.gated = family.gated;
  const auto width = {"intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size"};
  const bool by_default = !m.gated && !config.find(width);  // plain families leave 4 x hidden unsaid
  m.intermediate = by_default ? 4 * m.hidden : config.need(width).integer(1, widest);
  const std::optional<json_place> tied = config.find({"tie_word_embeddings"});
  m.tied = tied ? tied->boolean() : family.tied;
  if (const std::optional<json_place> positions = config.find({"max_position_embeddings", "n_positions"}))
    m.max_positions = positions->integer(1, most_tokens);
  read_experts(config, m);
  return m;
}

}  // namespace detail

/// Reads the shape of a model from a Hugging Face config.json, under the key names of the llama, qwen, mixtral and
/// deepseek families and of gpt2's. `name` is the model's, and opens every message.
/// Rule      whether the MLP has a gate and embeddings are tied: detail::family_of. An absent num_key_value_heads means
///           as many as heads; absent head_dim, hidden_size / heads. kv_lora_rank marks multi-head latent attention
/// Errors    invalid_input: not JSON, or a key that is missing or out of range, named
/// Complexity O(file size)
[[nodiscard]] inline result<costs::model_shape> read_model(std::istream& in, const std::string& name) {
  return detail::read_json(in, name, [&](const detail::json_place& config) {
    costs::model_shape m = detail::model_of(config);
    m.name = name;
    return m;
  });
}

/// Its name is that of the file, without the suffix.
/// Errors    also unreadable: the file
[[nodiscard]] inline result<costs::model_shape> read_model(const std::filesystem::path& file) {
  result<std::ifstream> in = detail::open_to_read(file);
  if (!in) return std::move(in).error();
  result<costs::model_shape> m = read_model(in.value(), file.string());
  if (m) m.value().name = file.stem().string();
  return m;
}

}  // namespace slimpack::io

#endif
