#ifndef SLIMPACK_COSTS_MODEL_GPUS_HPP
#define SLIMPACK_COSTS_MODEL_GPUS_HPP

#include <slimpack/costs/model/gpu.hpp>
#include <slimpack/costs/model/gpu_family.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// GPUs that need no file. examples/data/gpus has the same figures as JSON, with the source of each, to start a
/// description of another GPU from.
///
/// Source    memory, peak, bandwidth, multiprocessors: NVIDIA's data sheets and architecture papers, SXM boards. The
///           dense peak is half of the sparse one that the sheets of H100, H200 and B200 print.
///           The rest is measured, from published tables; examples/data/README.md names them:
///           gemm_efficiency           median of bf16 products of at least 2048 x 4096 x 4096
///           attention_efficiency      median of causal forwards of at least 8192 tokens and 8 heads of 128
///           backward_attention_ratio  of the longest sequences measured
///           layer_efficiency          median of the bf16 products of a layer together, of all models and
///                                     tensor-parallel ranks measured, on at least 2048 tokens
///                                     (tests/io/layer_efficiency_test.cpp)
///           inside                    all-gather over 8 GPUs: least latency, largest bus bandwidth
///           between                   send and receive between two nodes, likewise; the A100's bandwidth is the line
///                                     rate of a DGX A100's adapters, one of 200 Gb/s a GPU. What was measured, 7.8
///                                     GB/s by a pair, 17 GB/s of bus bandwidth by nodes of 8, is of a slower network
///           The H200 has the chip and the links of the H100, and so its figures. Of the B200 nothing was measured: its
///           efficiencies, latencies and adapters are the H100's, and its NVLink is used to the same share, 74 %.
namespace slimpack::costs::gpus {

[[nodiscard]] inline gpu a100() {
  return {.name = "A100-SXM4-80GB",
          .memory = {80e9},
          .peak_bf16_flops = 312e12,
          .memory_bandwidth = 2.039e12,
          .multiprocessors = 108,
          .gpus_per_node = 8,
          .gemm_efficiency = 0.80,
          .attention_efficiency = 0.63,
          .backward_attention_ratio = 3.1,
          .layer_efficiency = 0.72,
          .inside = {{1.6e-5}, 205e9},
          .between = {{2.4e-5}, 25e9},
          .source =
              "NVIDIA A100 80GB and DGX A100 data sheets and Ampere white paper; medians of aiconfigurator GEMM, "
              "attention and NCCL tables; cudnn-frontend backward; vidur send_recv latency between two nodes"};
}

[[nodiscard]] inline gpu h100() {
  return {.name = "H100-SXM5-80GB",
          .memory = {80e9},
          .peak_bf16_flops = 989e12,
          .memory_bandwidth = 3.35e12,
          .multiprocessors = 132,
          .gpus_per_node = 8,
          .gemm_efficiency = 0.79,
          .attention_efficiency = 0.61,
          .backward_attention_ratio = 3.2,
          .layer_efficiency = 0.72,
          .inside = {{1.0e-5}, 335e9},
          .between = {{1.7e-5}, 36e9},
          .source =
              "NVIDIA H100 data sheet and Hopper white paper; medians of aiconfigurator GEMM, attention and NCCL "
              "tables; tritonbench FlashAttention-3 backward; vidur send_recv between two DGX H100"};
}

[[nodiscard]] inline gpu h200() {
  gpu g = h100();
  g.name = "H200-SXM5-141GB";
  g.memory = {141e9};
  g.memory_bandwidth = 4.8e12;
  g.source =
      "NVIDIA H200 data sheet; peak, multiprocessors, efficiencies and links as the H100's, which has the same chip";
  return g;
}

[[nodiscard]] inline gpu b200() {
  gpu g = h100();
  g.name = "B200-SXM-180GB";
  g.memory = {180e9};
  g.peak_bf16_flops = 2250e12;
  g.memory_bandwidth = 8e12;
  g.multiprocessors = 148;
  g.inside.bandwidth = 670e9;
  g.source =
      "NVIDIA HGX B200 and DGX B200 data sheets; assumed from the H100: efficiencies, attention ratio, latencies, the "
      "share of NVLink that is reached, links between nodes";
  return g;
}

/// "a100", "h100", "h200" or "b200", whatever the case, behind the maker's name or not, as the driver prints them too:
/// "NVIDIA H100 80GB HBM3". Nothing for other boards of these GPUs, whose figures are not these: other words than those
/// of the description's name, and the memory's kind, name no GPU.
[[nodiscard]] inline std::optional<gpu> named(std::string_view name) {
  const std::vector<std::string> words = gpu_words(name);
  for (const gpu& known : {a100(), h100(), h200(), b200()}) {
    const std::vector<std::string> own = gpu_words(known.name);
    const auto of_it = [&](const std::string& word) {
      return word.starts_with("hbm") || std::any_of(own.begin(), own.end(), [&](const std::string& w) {
               return w == word || (word == "sxm" && w.starts_with(word));
             });
    };
    if (!words.empty() && words.front() == own.front() && std::all_of(words.begin(), words.end(), of_it)) return known;
  }
  return std::nullopt;
}

}  // namespace slimpack::costs::gpus

#endif
