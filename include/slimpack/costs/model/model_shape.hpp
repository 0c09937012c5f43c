#ifndef SLIMPACK_COSTS_MODEL_MODEL_SHAPE_HPP
#define SLIMPACK_COSTS_MODEL_MODEL_SHAPE_HPP

#include <cstdint>
#include <string>

namespace slimpack::costs {

/// The dimensions of a decoder-only transformer, as a Hugging Face config.json gives them (io/model_config.hpp).
/// Units     counts and widths in elements
struct model_shape {
  std::string name{};            ///< for reports
  int layers{};                  ///< num_hidden_layers
  std::int64_t hidden{};         ///< hidden_size
  int heads{};                   ///< num_attention_heads
  int kv_heads{};                ///< num_key_value_heads; heads where absent
  std::int64_t head_dim{};       ///< query and key width of a head
  std::int64_t value_dim{};      ///< value width of a head; head_dim but for MLA
  std::int64_t intermediate{};   ///< intermediate_size of dense layers
  std::int64_t vocabulary{};     ///< vocab_size
  bool gated{true};              ///< gate, up and down matrices; false: up and down
  bool tied{};                   ///< tie_word_embeddings
  std::int64_t max_positions{};  ///< max_position_embeddings; 0 where absent

  int experts{};                         ///< routed experts of a mixture-of-experts layer; 0: dense model
  int experts_per_token{};               ///< routed experts that are active for a token
  int shared_experts{};                  ///< experts that are active for every token
  std::int64_t expert_intermediate{};    ///< width of one expert
  int dense_layers{};                    ///< first layers that stay dense (first_k_dense_replace)

  std::int64_t query_rank{};     ///< MLA q_lora_rank; 0: full query projection
  std::int64_t kv_rank{};        ///< MLA kv_lora_rank; 0: no MLA
  std::int64_t rope_dim{};       ///< MLA qk_rope_head_dim: the part of a key shared by all heads

  [[nodiscard]] constexpr bool is_moe(int layer) const noexcept { return experts > 0 && layer >= dense_layers; }
  friend bool operator==(const model_shape&, const model_shape&) = default;
};

}  // namespace slimpack::costs

#endif
