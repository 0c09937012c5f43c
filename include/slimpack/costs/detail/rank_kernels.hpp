#ifndef SLIMPACK_COSTS_DETAIL_RANK_KERNELS_HPP
#define SLIMPACK_COSTS_DETAIL_RANK_KERNELS_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/costs/kernels/kernel_times.hpp>
#include <slimpack/costs/kernels/origin.hpp>
#include <slimpack/costs/model/gpu.hpp>
#include <slimpack/costs/provenance.hpp>
#include <slimpack/costs/stage_options.hpp>

#include <algorithm>
#include <cstdint>

namespace slimpack::detail {

/// A time and where it comes from.
struct known_time {
  seconds time;
  costs::origin source{costs::origin::modelled};
};

/// What one GPU takes for products, for moving bytes and for unfused attention, as a trainer runs them.
/// Requires  all that it is made from outlives it            Errors    none
class rank_kernels {
 public:
  rank_kernels(const costs::gpu& device, const costs::kernel_times& times, const costs::stage_options& with)
      : device_(device), times_(times), with_(with) {}

  /// (m x k) (k x n), and no less than reading or writing `grouped` elements: the matrices of a grouped product.
  [[nodiscard]] known_time product(std::int64_t m, std::int64_t n, std::int64_t k, double grouped = 0) const {
    const seconds computed = times_.product(m, n, k) * (1 / with_.linear_speed);
    const known_time read = moved(2 * grouped);
    return read.time > computed ? read : known_time{computed, times_.product_source(m, n, k)};
  }

  /// Bytes over the memory bandwidth that streaming kernels reach, and those of kernels that go row by row over theirs.
  [[nodiscard]] known_time moved(double streamed, double by_row = 0) const noexcept {
    return {{(streamed / with_.memory_share + by_row / with_.row_share) / device_.memory_bandwidth}};
  }

  /// `window`: keys that a query attends to at most; 0: all. Unfused attention computes all pairs, and masks.
  [[nodiscard]] known_time attention(pass p, tokens queries, tokens keys, int heads, int kv_heads, int head_dim,
                                     tokens window = {}) const {
    if (with_.attention == costs::attention_kind::flash)
      return {times_.attention(p, queries, keys, heads, kv_heads, head_dim, window),
              times_.attention_source(p, queries, keys, heads, kv_heads, head_dim, window)};
    const double pairs = static_cast<double>(queries.value) * static_cast<double>(keys.value) * heads;
    const double flops = (p == pass::forward ? 4 : 8) * pairs * head_dim;
    const double size = pairs * ((p == pass::forward ? 8 : 14) + (with_.dropout ? 5 : 0));
    return {seconds{flops / (device_.peak_bf16_flops * device_.gemm_efficiency)} + moved(size).time};
  }

  /// What a state takes for so many operations, in matrix products of its chunks, or channel by channel.
  /// Source    derived. Products of a chunk are as small as the tiles of attention, and reach its share of the peak;
  ///           channels run on vector units, whose peak in fp32 is near a sixteenth of that of matrix units in bf16 (67
  ///           of 989 TFLOP/s of an H100, 19.5 of 312 of an A100)
  [[nodiscard]] known_time scanned(double flops, bool by_channel) const noexcept {
    const double rate = device_.peak_bf16_flops * (by_channel ? 1.0 / 16 : device_.attention_efficiency);
    return {seconds{flops / rate}, costs::origin::derived};
  }

 private:
  const costs::gpu& device_;
  const costs::kernel_times& times_;
  const costs::stage_options& with_;
};

}  // namespace slimpack::detail

#endif
