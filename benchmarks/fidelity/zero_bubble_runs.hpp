#ifndef SLIMPACK_BENCHMARKS_FIDELITY_ZERO_BUBBLE_RUNS_HPP
#define SLIMPACK_BENCHMARKS_FIDELITY_ZERO_BUBBLE_RUNS_HPP

#include <slimpack/concepts.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/timeline.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace fidelity {

/// What the tables say of a model.
struct zero_bubble_model {
  int layers{};
  double hidden{};
  double heads{};
  double length{};

  /// Bytes that a token of a layer keeps until B, and until W: what Qi et al. count, table 1, without flash attention.
  [[nodiscard]] double until_inputs() const { return 2 * hidden + 5 * heads * length; }
  [[nodiscard]] double until_weights() const { return 32 * hidden; }
  /// Operations of a token, forward and backward, without logits (the vocabulary is not told).
  [[nodiscard]] double operations() const { return 72 * layers * hidden * hidden * (1 + length / (6 * hidden)); }
};

/// Whether a stage goes on while its messages travel, or waits until they are through.
enum class sends { beside, blocking };

/// What simulating a schedule gives.
struct outcome {
  double makespan{};
  double span{};    ///< the longest time from a stage's first to its last instruction
  double memory{};  ///< of the fullest stage, in micro-batches as 1F1B holds them
  double limit{};   ///< of the same
};

/// The schedules of Qi et al. by their names there, each in the memory that it is given there, over micro-batches of
/// one sequence: `cost_of(chunks, bytes of a token until W, until B, sends)` makes the cost model. Orders are made with
/// messages beside compute. Those drawn by hand count whole micro-batches until W; ZB-1p and ZB-2p are planned with
/// what B releases.
template <class CostOf>
outcome run_zero_bubble(const std::string& schedule, int stages, int microbatches, const zero_bubble_model& m,
                        sends how, const CostOf& cost_of) {
  using namespace slimpack;
  const auto run = [&](const auto& policy, double limit, int chunks, double live, double until_b) {
    const tokens size{128};  // of a micro-batch: only ratios count here
    partition packs;
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(microbatches); ++i)
      for (micropacks* side : {&packs.forward, &packs.backward}) side->push({{i}, {0}, size}), side->close();
    shape on{.stages = stages};
    on.chunks = chunks;
    const double micro_batch = static_cast<double>(size.value) * (live + until_b);
    on.memory = memory_limit{memory_unit::byte, limit * micro_batch};
    const auto priced = [&](sends with) {
      const auto cost = cost_of(chunks, live, until_b, with);
      return price(packs, cost, on, rates_of(cost, on).value(), weight_gradients_of<std::decay_t<decltype(policy)>>);
    };
    const std::vector<program> programs = policy.programs(priced(sends::beside)).value();
    const workload planned = settled(priced(sends::beside), programs);
    const simulators::timeline lanes = simulators::simulate(settled(priced(how), programs), programs).value();
    outcome out{.makespan = lanes.makespan.value, .limit = limit};
    for (const auto& lane : lanes.stages) out.span = std::max(out.span, (lane.back().end - lane.front().begin).value);
    for (const double held : simulators::peak_memory(planned, programs))
      out.memory = std::max(out.memory, held / micro_batch);
    return out;
  };
  using schedules::zero_bubble;
  using schedules::zero_bubble_order;
  const int p = stages;
  if (schedule == "1F1B") return run(schedules::one_f_one_b{.lead = 1}, p, 1, 1, 0);
  if (schedule == "1F1B-I")  // Megatron-LM's order; one layer a chunk, the embedding and the head count as one each
    return run(schedules::one_f_one_b{.lead = 2}, microbatches, (m.layers + 2) / p, 1, 0);
  if (schedule == "ZB-H1") return run(zero_bubble{.order = zero_bubble_order::h1}, p, 1, 1, 0);
  if (schedule == "ZB-H2") return run(zero_bubble{.order = zero_bubble_order::h2}, 2 * p - 1, 1, 1, 0);
  return run(zero_bubble{}, schedule == "ZB-1p" ? p : 2 * p, 1, m.until_weights(), m.until_inputs());
}

}  // namespace fidelity

#endif
