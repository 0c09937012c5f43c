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
  double peak_bf16_flops{};   ///< dense, per second
  double memory_bandwidth{};  ///< bytes per second
  int multiprocessors{};
  int gpus_per_node{};
  double gemm_efficiency{};           ///< of the peak, large products, one alone
  double attention_efficiency{};      ///< of the peak, long causal slices, forward
  double backward_attention_ratio{};  ///< attention backward over forward, time
  /// Of the peak, the products of a layer one after the other, on packs of training's size. 0: not known, see
  /// in_layers.
  double layer_efficiency{};
  link inside{};   ///< within a node
  link between{};  ///< between nodes, over one adapter
  std::string source{};
  int adapters_per_node{0};  ///< to other nodes: neighbouring GPUs share one, as many each. 0: one for each
                             ///< GPU

  /// layer_efficiency; where nothing is known of layers, nine tenths of gemm_efficiency, which is what kernels keep in
  /// layers on the two GPUs that both were measured on (costs/model/gpus.hpp).
  [[nodiscard]] constexpr double in_layers() const noexcept {
    return layer_efficiency > 0 ? layer_efficiency : 0.9 * gemm_efficiency;
  }
  /// adapters_per_node; where it is not given, one for each GPU.
  [[nodiscard]] constexpr int adapters() const noexcept {
    return adapters_per_node > 0 ? adapters_per_node : gpus_per_node;
  }
  friend bool operator==(const gpu&, const gpu&) = default;
};

}  // namespace slimpack::costs

#endif
