#ifndef SLIMPACK_COSTS_KERNELS_KERNEL_SAMPLES_HPP
#define SLIMPACK_COSTS_KERNELS_KERNEL_SAMPLES_HPP

#include <slimpack/core/units.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace slimpack::costs {

/// One measurement of an attention kernel. Its last query is its last key: queries attend to a prefix and to
/// themselves.
struct attention_sample {
  std::string gpu{};     ///< as the measurement names it
  std::string kernel{};  ///< likewise; times of different kernels are never mixed without a scale
  int batch{1};
  tokens queries{};
  tokens keys{};  ///< prefix and queries
  int heads{};
  int kv_heads{};
  int head_dim{};
  bool causal{true};
  bool deterministic{};  ///< the slower backward that gives the same bits each time: a kernel of its own
  seconds forward{};
  std::optional<seconds> backward{};
  friend bool operator==(const attention_sample&, const attention_sample&) = default;
};

/// One measurement of a bf16 product of an m x k and a k x n matrix; m counts tokens.
struct product_sample {
  std::string gpu{};
  std::int64_t m{};
  std::int64_t n{};
  std::int64_t k{};
  seconds time{};
  friend bool operator==(const product_sample&, const product_sample&) = default;
};

/// Measured forward times of the operations of one transformer layer on one of its tensor-parallel ranks, attention and
/// communication not among them. What was not measured is empty.
struct layer_sample {
  std::string gpu{};
  std::string model{};
  std::int64_t hidden{};
  std::int64_t ffn{};
  int q_heads{};
  int kv_heads{};
  int tensor{};  ///< tensor-parallel ranks
  slimpack::tokens tokens{};
  std::optional<seconds> input_layernorm{};
  std::optional<seconds> attn_pre_proj{};  ///< queries, keys and values
  std::optional<seconds> attn_rope{};
  std::optional<seconds> attn_post_proj{};
  std::optional<seconds> post_attention_layernorm{};
  std::optional<seconds> mlp_up_proj{};  ///< gate and up together
  std::optional<seconds> mlp_act{};
  std::optional<seconds> mlp_down_proj{};
  std::optional<seconds> add{};  ///< one residual
  std::optional<seconds> emb{};  ///< looking up the embedding
  friend bool operator==(const layer_sample&, const layer_sample&) = default;
};

}  // namespace slimpack::costs

#endif
