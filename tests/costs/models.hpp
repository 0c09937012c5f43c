#ifndef SLIMPACK_TESTS_COSTS_MODELS_HPP
#define SLIMPACK_TESTS_COSTS_MODELS_HPP

#include <slimpack/costs/model/model_shape.hpp>

/// Published models, as their config.json files have them; and the shapes that SlimPipe's evaluation names by size,
/// with the vocabulary that its figures imply.
namespace slimpack::tests {

[[nodiscard]] inline costs::model_shape llama_3_1_8b() {
  return {.name = "llama-3.1-8b",
          .layers = 32,
          .hidden = 4096,
          .heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .value_dim = 128,
          .intermediate = 14336,
          .vocabulary = 128256};
}

[[nodiscard]] inline costs::model_shape mixtral_8x7b() {
  return {.name = "mixtral-8x7b",
          .layers = 32,
          .hidden = 4096,
          .heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .value_dim = 128,
          .intermediate = 14336,
          .vocabulary = 32000,
          .experts = 8,
          .experts_per_token = 2,
          .expert_intermediate = 14336};
}

/// MLA: keys of 128 + 64, the 64 shared by all heads; the first 3 of 61 layers are dense.
[[nodiscard]] inline costs::model_shape deepseek_v3() {
  return {.name = "deepseek-v3",
          .layers = 61,
          .hidden = 7168,
          .heads = 128,
          .kv_heads = 128,
          .head_dim = 192,
          .value_dim = 128,
          .intermediate = 18432,
          .vocabulary = 129280,
          .experts = 256,
          .experts_per_token = 8,
          .shared_experts = 1,
          .expert_intermediate = 2048,
          .dense_layers = 3,
          .query_rank = 1536,
          .kv_rank = 512,
          .rope_dim = 64};
}

/// Two matrices, no gate; one embedding for input and output.
[[nodiscard]] inline costs::model_shape gpt_3_175b() {
  return {.name = "gpt-3-175b",
          .layers = 96,
          .hidden = 12288,
          .heads = 96,
          .kv_heads = 96,
          .head_dim = 128,
          .value_dim = 128,
          .intermediate = 49152,
          .vocabulary = 50257,
          .gated = false,
          .tied = true};
}

[[nodiscard]] inline costs::model_shape slimpipe_13b() {
  return {.name = "13B",
          .layers = 40,
          .hidden = 5120,
          .heads = 40,
          .kv_heads = 40,
          .head_dim = 128,
          .value_dim = 128,
          .intermediate = 13824,
          .vocabulary = 128256,
          .tied = true};
}

[[nodiscard]] inline costs::model_shape slimpipe_70b() {
  return {.name = "70B",
          .layers = 80,
          .hidden = 8192,
          .heads = 64,
          .kv_heads = 8,
          .head_dim = 128,
          .value_dim = 128,
          .intermediate = 28672,
          .vocabulary = 128256,
          .tied = true};
}

/// h 4, k 2, f 8, two layers: small enough to count by hand.
[[nodiscard]] inline costs::model_shape tiny() {
  return {.name = "tiny",
          .layers = 2,
          .hidden = 4,
          .heads = 2,
          .kv_heads = 1,
          .head_dim = 2,
          .value_dim = 2,
          .intermediate = 8,
          .vocabulary = 10};
}

/// The same with four experts of that width in each layer, two of them active: 48 weights of attention, 16 of the
/// router, 96 of each expert.
[[nodiscard]] inline costs::model_shape tiny_experts() {
  costs::model_shape m = tiny();
  m.name = "tiny experts";
  m.experts = 4, m.experts_per_token = 2, m.expert_intermediate = 8;
  return m;
}

}  // namespace slimpack::tests

#endif
