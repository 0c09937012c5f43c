#ifndef SLIMPACK_COSTS_STAGE_OPTIONS_HPP
#define SLIMPACK_COSTS_STAGE_OPTIONS_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/costs/memory/saved_tensors.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/traffic.hpp>

#include <optional>
#include <vector>

namespace slimpack::costs {

/// When a trainer sums gradients over the copies of its weights, and gathers the weights.
enum class reduction : unsigned char {
  overlapped,  ///< in buckets of layers, beside the work (core/gradient_reduction.hpp)
  exposed,     ///< all at once, after the work
};

/// How a trainer computes attention.
enum class attention_kind : unsigned char {
  flash,    ///< one kernel, scores never in memory
  unfused,  ///< batched products around a softmax over all queries and keys, masked half included, and its dropout:
            ///< Megatron-LM before flash attention
};

/// When a pipeline sends what a part computed.
enum class messages : unsigned char {
  overlapped,  ///< beside the next pack's work
  waited_for,  ///< at once, and both ends wait: Megatron-LM's default order of calls
};

/// How a trainer runs a stage: what profiled_of asks beside the model, the machine and the shape.
/// Source    slowdown of compute: fitted to the layers and iterations that benchmarks/fidelity/iterations.cpp reads;
///           leaving out any one of its files chooses from 1.75 to 2.5. memory_share: the residual addition of
///           published tables of layer operations, 0.84 to 0.88 on two kinds of GPU. row_share: norms, activation and
///           positions of the same tables together, at medians of 0.49 to 0.54 for two models on each of two kinds of
///           GPU; these kernels (vLLM's CUDA sources of 2023) load two bytes at a time, which keeps fewer bytes on
///           their way than the memory's latency wants. norm_reads: the same sources, and Apex's layer norm: once for
///           the statistics of a row, once to apply them. cast_bytes: torchao's float8 linear layers, which cast the
///           input and the weights forward, and the gradient of the output, the input and the weights backward.
///           accumulation_traffic: Megatron-LM's hook on each parameter, main_grad.add_(grad). launch: a dozen
///           kernels, 2 to 3 us each
struct stage_options {
  costs::recompute recompute{costs::recompute::none};
  attention_kind attention{attention_kind::flash};
  costs::context_exchange exchange{costs::context_exchange::ring};  ///< of keys and values between context-parallel
                                                                    ///< ranks
  costs::messages messages{costs::messages::overlapped};
  costs::routing routing{};  ///< of tokens to experts that ranks divide
  bool sequence_parallel{true};
  bool cuts{true};                  ///< sequences into slices: memory has what later slices read of earlier ones
  bool hides_tensor_traffic{true};  ///< under the weight gradients; false: all of it is waited for
  bool dropout{};                   ///< before both residual additions, and in unfused attention
  bool repeats_additions{};         ///< light and selective recomputation run residual additions and positions again,
                                    ///< too, as where checkpoints keep outputs of products alone
  bool distributed_optimizer{true};
  costs::reduction reduction{costs::reduction::overlapped};
  costs::slowdown slowdown{.compute = 2};
  saved_tensors tensors{saved_tensors::flash_attention()};
  std::vector<int> layers{};     ///< on each part; empty: as costs::transformer spreads them
  std::optional<seconds> hop{};  ///< replaces the network's time of a message
  bool joins_rows{};             ///< packs are called whole (executors/joined/joined_row.hpp): attention of their own
                                 ///< sequences covers exchanges

  double memory_share{0.85};  ///< of the memory bandwidth, reached by kernels that stream through whole tensors
  double row_share{0.5};      ///< the same of kernels that go row by row: norms, activation, positions
  int norm_reads{2};          ///< how often a norm reads its inputs; 1: rows stay in registers, persistent
                              ///< kernels; 10: as PyTorch puts a norm together where it does not compile, see
                              ///< eager_pytorch
  /// Bytes moved an element of queries and keys for their positions: 4 where one kernel reads and writes them.
  double position_bytes{4};
  double linear_speed{1};  ///< of products over bf16's: 2 where they run in FP8
  /// Bytes moved an element of a product's operands to cast them to FP8: 0 where kernels before it do so, 5 where
  /// scales are dynamic and casts kernels of their own (2 read for the largest, 2 read and 1 written to cast).
  double cast_bytes{0};
  double gradient_bytes{4};  ///< of a parameter's gradient when it is reduced
  /// Bytes read and written a parameter to add a backward pack's gradients to those of the step: 0 where the weight
  /// gradients' products do, 10 where a kernel of its own adds bf16 to fp32 (2 and 4 read, 4 written).
  double accumulation_traffic{0};
  double optimizer_traffic{52};  ///< bytes read and written a parameter, see profiled_of
  seconds launch{3e-5};          ///< of a layer's kernels, forward; backward twice
  seconds call{};                ///< of each piece besides, in each pass, where the trainer is called piece by piece
  tokens longest{1 << 20};       ///< prefix and queries up to which attention is tabulated
};

/// The kernels of PyTorch where nothing is compiled or fused: options changed so.
/// Source    derived from its composite operators (aten/src/ATen/native/layer_norm.cpp of 2024, torchtitan's
///           apply_rotary_emb), bytes an element, forward: RMSNorm casts to fp32 (2 read, 4 written), squares (4, 4),
///           averages (4), multiplies (4, 4), casts back (4, 2) and scales (2, 2), 36 together; positions cast to fp32
///           (6), multiply complex numbers (8) and cast back (6), 20. These kernels stream (memory_share), so at
///           row_share they count as 21 and 12; a norm's backward, 76 bytes, then as 45, which the same norm_reads come
///           to, 44
[[nodiscard]] inline stage_options eager_pytorch(stage_options with = {}) {
  with.norm_reads = 10;
  with.position_bytes = 12;
  return with;
}

}  // namespace slimpack::costs

#endif
