#ifndef SLIMPACK_BENCHMARKS_FIDELITY_TRAININGS_HPP
#define SLIMPACK_BENCHMARKS_FIDELITY_TRAININGS_HPP

#include "data.hpp"
#include "machines.hpp"
#include "prices.hpp"
#include "score.hpp"

#include <slimpack/core/micropack.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/timeline.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fidelity {

/// An iteration, and the most that each stage holds.
struct iterated {
  slimpack::seconds time{};
  std::vector<double> peak{};  ///< bytes
};

/// An iteration in which each replica runs so many sequences of one length, some a pack, in Megatron-LM's order: 1F1B,
/// interleaved where a stage has several chunks. Nothing where the shape's memory limit is exceeded.
template <class Cost>
std::optional<iterated> iterate(const Cost& cost, const slimpack::shape& on, int sequences, slimpack::tokens length,
                                int micro_batch) {
  using namespace slimpack;
  partition replica;
  for (micropacks* pass : {&replica.forward, &replica.backward})
    for (int i = 0; i < sequences; ++i) {
      pass->push({{static_cast<std::uint32_t>(i)}, {0}, length});
      if ((i + 1) % micro_batch == 0) pass->close();
    }
  const workload work = price(replica, cost, on, rates_of(cost, on).value());
  const result<std::vector<program>> programs = schedules::one_f_one_b{.lead = on.chunks > 1 ? 2 : 1}.programs(work);
  if (!programs) return std::nullopt;
  return iterated{simulators::simulate(work, programs.value()).value().makespan + cost.reduce_time(),
                  simulators::peak_memory(work, programs.value())};
}

/// Its seconds.
template <class Cost>
std::optional<slimpack::seconds> iteration(const Cost& cost, const slimpack::shape& on, int sequences,
                                           slimpack::tokens length, int micro_batch) {
  const std::optional<iterated> made = iterate(cost, on, sequences, length, micro_batch);
  return made ? std::optional(made->time) : std::nullopt;
}

/// Trainings of flash attention on other GPUs, in bf16 and FP8. Nothing is fitted to them, and no goal is set.
[[nodiscard]] score other_trainings(const std::filesystem::path& data);

/// torchtitan's, in pipelines and without, of context-parallel ranks and not. Nothing is fitted to them, and no goal is
/// set.
[[nodiscard]] score torchtitan_trainings(const std::filesystem::path& data);

/// Of torchtitan's, those in bf16 that were not compiled, by a price.
[[nodiscard]] std::vector<row> torchtitan_rows(const std::filesystem::path& data, machines& cluster, price_kind by);

/// A training of a model whose experts ranks divide, in seconds of an iteration, with the family of its GPU.
struct expert_row {
  std::string gpu;
  std::string what;  ///< "DeepSeek-V3 in FP8"
  row seconds;
};

/// All of them that a price knows; those in FP8 count products as twice as fast as in bf16.
[[nodiscard]] std::vector<expert_row> expert_rows(const std::filesystem::path& data, machines& cluster, price_kind by,
                                                  left_out& others);

/// Trainings of models whose experts ranks divide. Nothing is fitted to them, and no goal is set.
[[nodiscard]] score expert_trainings(const std::filesystem::path& data);

}  // namespace fidelity

#endif
