#ifndef SLIMPACK_SCHEDULES_DETAIL_INTERLEAVED_ORDER_HPP
#define SLIMPACK_SCHEDULES_DETAIL_INTERLEAVED_ORDER_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/workload.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Units of a pass with virtual stages: what a pack runs on one chunk. All stages run them in one order.
namespace slimpack::detail {

/// Units in Megatron-LM's interleaved order: groups of packs pass chunk after chunk, backward from the last chunk.
[[nodiscard]] inline std::vector<instruction> interleaved_order(const workload& work, pass p, std::size_t group) {
  std::vector<instruction> order;
  const std::size_t packs = work.times.packs(p);
  const auto chunks = static_cast<std::uint32_t>(work.shape.chunks);
  order.reserve(packs * chunks);
  for (std::size_t first = 0; first < packs; first += group)
    for (std::uint32_t k = 0; k < chunks; ++k)
      for (std::size_t i = first; i < std::min(first + group, packs); ++i)
        order.push_back({pass_kind(p), {static_cast<std::uint32_t>(i)}, nth_place(p, k, chunks)});
  return order;
}

/// Programs of packs that run forward alone: all stages run them in one order.
[[nodiscard]] inline std::vector<program> forward_programs(const workload& work) {
  const auto stages = static_cast<std::size_t>(work.shape.stages);
  return std::vector<program>(stages, interleaved_order(work, pass::forward, stages));
}

/// Per backward unit, the forward units that the last stage must have run before it: those up to the turn of its pack,
/// and of all backward units before.
[[nodiscard]] inline std::vector<std::size_t> forwards_needed(const workload& work,
                                                              std::span<const instruction> forward,
                                                              std::span<const instruction> backward) {
  const auto last_chunk = static_cast<std::uint32_t>(work.shape.chunks - 1);
  std::vector<std::size_t> through(work.times.packs(pass::forward));
  for (std::size_t k = 0; k < forward.size(); ++k)
    if (forward[k].chunk == last_chunk) through[forward[k].pack.value] = k + 1;
  std::vector<std::size_t> need(backward.size());
  for (std::size_t k = 0; k < backward.size(); ++k)
    need[k] = std::max(k == 0 ? 0 : need[k - 1], through[work.turn[backward[k].pack.value]]);
  return need;
}

}  // namespace slimpack::detail

#endif
