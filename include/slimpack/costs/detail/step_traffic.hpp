#ifndef SLIMPACK_COSTS_DETAIL_STEP_TRAFFIC_HPP
#define SLIMPACK_COSTS_DETAIL_STEP_TRAFFIC_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/traffic.hpp>
#include <slimpack/costs/stage_options.hpp>

#include <algorithm>

namespace slimpack::detail {

/// What a message takes from its end on a stage to its use on the next, the slowest of all boundaries: one rank's share
/// of the hidden states, which without sequence parallelism its tensor-parallel ranks gather (Megatron-LM's
/// scatter-gather). A straight line through messages of 1024 and 65536 tokens. Where stages wait for them they are
/// slowed down like all communication that compute waits for.
struct message_line {
  seconds empty{};
  seconds token{};

  [[nodiscard]] static message_line of(const costs::model_shape& model, const shape& on, const costs::traffic& wires,
                                       const costs::stage_options& with) {
    if (with.hop) return {*with.hop, {}};
    if (on.parts() == 1) return {};
    const auto time = [&](double size) {
      const bytes states{2.0 * static_cast<double>(model.hidden) * size / on.context};
      seconds most{};
      for (int r = 0; r < on.stages; ++r) most = std::max(most, wires.message(states * (1.0 / on.tensor), r));
      if (with.sequence_parallel) return most;
      return most + wires.net().all_gather(wires.tensor_ranks(), states) * with.slowdown.exposed;
    };
    const double few = 1024, many = 65536;
    const double by = with.messages == costs::messages::waited_for ? with.slowdown.exposed : 1;
    const seconds token = (time(many) - time(few)) * (by / (many - few));
    return {std::max(seconds{}, time(few) * by - token * few), token};
  }
};

/// What the ends of steps take for weights, and for `experts` that ranks divide: gradients summed over all copies, the
/// optimizer's step, and weights gathered again.
struct step_times {
  seconds scatter;
  seconds optimizer;
  seconds gather;

  [[nodiscard]] static step_times of(double weights, double experts, const shape& on, const costs::traffic& wires,
                                     const costs::stage_options& with) {
    const double memory = with.memory_share * wires.net().device().memory_bandwidth;
    const double copies = on.replicas * on.context;
    const double expert_copies = static_cast<double>(on.stage_ranks()) / on.expert;
    const auto updated = [&](double own, double shares) {
      return seconds{with.optimizer_traffic * own / shares / memory};
    };
    step_times t;
    t.scatter = wires.gradients({with.gradient_bytes * weights});
    const bool shares = with.distributed_optimizer;
    const double gathered = shares ? 2 : with.gradient_bytes;  // without shares sums are gathered, and not weights
    seconds& way = shares ? t.gather : t.scatter;
    way += wires.parameters({gathered * weights});
    t.optimizer = updated(weights, shares ? copies : 1);
    if (on.expert == 1) return t;
    t.scatter += wires.expert_gradients({with.gradient_bytes * experts});
    way += wires.expert_parameters({gathered * experts});
    t.optimizer += updated(experts, shares ? expert_copies : 1);
    return t;
  }
  [[nodiscard]] seconds total() const noexcept { return scatter + optimizer + gather; }
};

}  // namespace slimpack::detail

#endif
