#ifndef SLIMPACK_EXAMPLES_PLAN_MEMORY_MARGIN_HPP
#define SLIMPACK_EXAMPLES_PLAN_MEMORY_MARGIN_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/costs/model/gpu.hpp>

namespace cli {

/// What of a GPU's memory plans leave free where --memory is not given, since no cost model counts it.
/// Source    fragments: 3 % of the memory. What torchtitan's allocator reserves, fragments included, is at most 8 % and
///           in the median 2 % more than what is used (benchmarks/fidelity/memory.cpp, F12).
///           workspaces: half a GiB of context and loaded kernels, and 32 MiB of cuBLAS on each of three streams, as
///           its manual recommends for an H100.
///           communicators: of tensor, context, data, expert and pipeline parallelism, a quarter of a GiB each: NCCL's
///           default of 4 MiB (NCCL_BUFFSIZE) for each of up to 32 channels, and as much again for its other protocols
/// Units     bytes
struct memory_margin {
  slimpack::bytes fragments{};
  slimpack::bytes workspaces{};
  slimpack::bytes communicators{};

  [[nodiscard]] static memory_margin of(const slimpack::costs::gpu& device) noexcept {
    constexpr double gib = 1024.0 * 1024 * 1024;
    return {{0.03 * device.memory.value}, {gib * (0.5 + 3 * 32 / 1024.0)}, {5 * 0.25 * gib}};
  }
  [[nodiscard]] slimpack::bytes all() const noexcept { return fragments + workspaces + communicators; }
};

}  // namespace cli

#endif
