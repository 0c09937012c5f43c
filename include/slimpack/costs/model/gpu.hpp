#ifndef SLIMPACK_COSTS_MODEL_GPU_HPP
#define SLIMPACK_COSTS_MODEL_GPU_HPP

#include <slimpack/core/units.hpp>

#include <string>

namespace slimpack::costs {

/// One kind of connection between two GPUs.
struct link {
  seconds latency{};
  double bandwidth{};  ///< bytes per second, one direction, as one GPU sees it

  [[nodiscard]] constexpr seconds over(bytes size) const noexcept { return {latency.value + size.value / bandwidth}; }
  friend constexpr bool operator==(const link&, const link&) = default;
};

/// A GPU and its node, as a JSON file describes them (io/gpu.hpp).
struct gpu {
  std::string name{};
  bytes memory{};
  double peak_bf16_flops{};           ///< dense, per second
  double memory_bandwidth{};          ///< bytes per second
  int multiprocessors{};
  int gpus_per_node{};
  double gemm_efficiency{};           ///< of the peak, large products
  double attention_efficiency{};      ///< of the peak, long causal slices, forward
  double backward_attention_ratio{};  ///< attention backward over forward, time
  link inside{};                      ///< within a node
  link between{};                     ///< between nodes
  std::string source{};
  friend bool operator==(const gpu&, const gpu&) = default;
};

}  // namespace slimpack::costs

#endif
