#ifndef SLIMPACK_COSTS_KERNELS_DETAIL_REFERENCE_KERNEL_HPP
#define SLIMPACK_COSTS_KERNELS_DETAIL_REFERENCE_KERNEL_HPP

#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/model/gpu_family.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

namespace slimpack::detail {

/// What samples have in common that may be compared as they are.
struct kernel_key {
  std::string gpu;
  std::string kernel;
  bool deterministic;

  [[nodiscard]] static kernel_key of(const costs::attention_sample& s) { return {s.gpu, s.kernel, s.deterministic}; }
  friend auto operator<=>(const kernel_key&, const kernel_key&) = default;
};

/// Of kernels with causal times, the one a trainer on a GPU of this name most likely runs: with a backward that need
/// not be deterministic, if there is one, else not deterministic; then on the GPU whose name begins most alike; then
/// with the most samples; then the last by name. Nothing where no sample is causal.
[[nodiscard]] inline std::optional<kernel_key> reference_kernel(std::span<const costs::attention_sample> samples,
                                                                std::string_view gpu) {
  struct evidence {
    bool trains{};
    std::size_t samples{};
  };
  std::map<kernel_key, evidence> kernels;
  for (const costs::attention_sample& s : samples) {
    if (!s.causal) continue;
    evidence& so_far = kernels[kernel_key::of(s)];
    so_far.trains = so_far.trains || s.backward;
    ++so_far.samples;
  }
  std::optional<kernel_key> best;
  std::tuple<bool, bool, std::size_t, std::size_t> most;
  const std::string own = costs::plain_gpu_name(gpu);
  for (const auto& [key, found] : kernels) {
    const std::string other = costs::plain_gpu_name(key.gpu);
    const auto alike = std::mismatch(other.begin(), other.end(), own.begin(), own.end()).first - other.begin();
    const std::tuple rank{found.trains && !key.deterministic, !key.deterministic, static_cast<std::size_t>(alike),
                          found.samples};
    if (!best || rank >= most) best = key, most = rank;
  }
  return best;
}

}  // namespace slimpack::detail

#endif
