#ifndef SLIMPACK_COSTS_KERNELS_KERNEL_SAMPLES_HPP
#define SLIMPACK_COSTS_KERNELS_KERNEL_SAMPLES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>

#include <algorithm>
#include <cmath>
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

namespace slimpack::detail {

[[nodiscard]] inline bool is_measured_time(seconds t) noexcept { return t > seconds{} && std::isfinite(t.value); }

/// Why a sample is no measurement, if it is none, naming it.
[[nodiscard]] inline std::optional<error> fault_of(const costs::attention_sample& s) {
  const auto says = [&](const char* what) {
    return error{errc::invalid_input,
                 "attention " + s.kernel + " on " + s.gpu + ", " + std::to_string(s.queries.value) + " queries, " +
                     std::to_string(s.keys.value) + " keys, " + std::to_string(s.heads) + " heads: " + what};
  };
  if (std::min({s.batch, s.heads, s.kv_heads, s.head_dim}) < 1 || s.queries < tokens{1})
    return says("batch, tokens, heads and head size are counted from 1");
  if (s.keys < s.queries) return says("keys are the prefix and the queries themselves, so no fewer than the queries");
  if (!is_measured_time(s.forward) || (s.backward && !is_measured_time(*s.backward)))
    return says("a time must be more than 0 and finite");
  return std::nullopt;
}

[[nodiscard]] inline std::optional<error> fault_of(const costs::product_sample& s) {
  const auto says = [&](const char* what) {
    return error{errc::invalid_input, "product of " + std::to_string(s.m) + " x " + std::to_string(s.k) + " and " +
                                          std::to_string(s.k) + " x " + std::to_string(s.n) + " on " + s.gpu + ": " +
                                          what};
  };
  if (std::min({s.m, s.n, s.k}) < 1) return says("sizes are counted from 1");
  if (!is_measured_time(s.time)) return says("a time must be more than 0 and finite");
  return std::nullopt;
}

}  // namespace slimpack::detail

#endif
