#ifndef SLIMPACK_COSTS_MODEL_GPU_HPP
#define SLIMPACK_COSTS_MODEL_GPU_HPP

#include <slimpack/core/units.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// The words of a GPU's name that tell it from others, in small letters: "h100", "80gb", "hbm3" of
/// "NVIDIA H100 80GB HBM3". A maker and a line of products say nothing of the GPU when more follows: NVIDIA, AMD,
/// Intel, Tesla, GeForce, Quadro, RTX, Instinct, Radeon.
/// Errors    none; a name of no words has none            Complexity  O(length)
[[nodiscard]] inline std::vector<std::string> gpu_words(std::string_view name) {
  constexpr std::string_view makers[] = {"nvidia", "amd", "intel",    "tesla", "geforce",
                                         "quadro", "rtx", "instinct", "radeon"};
  std::vector<std::string> words;
  for (std::size_t at = name.find_first_not_of("-_ "); at != std::string_view::npos;) {
    const std::size_t end = std::min(name.size(), name.find_first_of("-_ ", at));
    std::string word(name.substr(at, end - at));
    for (char& c : word)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');  // whatever the locale
    if (words.size() == 1 && std::find(std::begin(makers), std::end(makers), words[0]) != std::end(makers))
      words[0] = std::move(word);
    else
      words.push_back(std::move(word));
    at = name.find_first_not_of("-_ ", end);
  }
  return words;
}

/// The first of them: "h100" of "H100-SXM5-80GB" and of "NVIDIA H100 PCIe". Measurements of one family are taken for
/// one GPU.
[[nodiscard]] inline std::string gpu_family(std::string_view name) {
  std::vector<std::string> words = gpu_words(name);
  return words.empty() ? std::string{} : std::move(words.front());
}

/// Them all, a blank between them, so that names of the same board begin alike whoever wrote them.
[[nodiscard]] inline std::string plain_gpu_name(std::string_view name) {
  std::string all;
  for (const std::string& word : gpu_words(name)) all.append(all.empty() ? "" : " ").append(word);
  return all;
}

}  // namespace slimpack::costs

#endif
