#ifndef SLIMPACK_COSTS_DETAIL_STEP_ENDS_HPP
#define SLIMPACK_COSTS_DETAIL_STEP_ENDS_HPP

#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/costs/detail/layers_on_parts.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/traffic.hpp>
#include <slimpack/costs/stage_options.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

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

/// Layers that are reduced together.
struct weight_bucket {
  double at{};          ///< see gradient_bucket: by operations, attention left out
  double parameters{};  ///< on a rank, but for experts that ranks divide
  double experts{};     ///< those

  [[nodiscard]] double all() const noexcept { return parameters + experts; }
};

/// The buckets of each part: embedding, layers and logits in order, cut before a bucket that has 40 million parameters,
/// or a million for each copy, would take another. A head that is tied to the embedding of its own part is reduced with
/// it. A share of a spread vocabulary is a part of its own, with one bucket (shape::reduced_parts).
/// Source    Megatron Core's default, max(40000000, 1000000 * data-parallel size), the buckets of each chunk of layers
///           apart
/// Shapes    layers: of each part, from layers_on_parts            Complexity  O(layers)
[[nodiscard]] inline std::vector<std::vector<weight_bucket>> weight_buckets(const costs::model_shape& model,
                                                                            const shape& on,
                                                                            std::span<const int> layers,
                                                                            const costs::routing& how = {}) {
  const double enough = std::max(4e7, 1e6 * on.replicas * on.context);
  struct item {
    double parameters{};
    double experts{};
    double flops{};
  };
  const double matrix = static_cast<double>(model.vocabulary * model.hidden) / on.tensor;
  const bool spread = on.vocabulary == vocabulary::spread;
  std::vector<std::vector<weight_bucket>> parts;
  const std::vector<costs::layer> model_layers = layers_of(model, on, how);
  std::size_t next = 0;
  for (std::size_t part = 0; part < layers.size(); ++part) {
    std::vector<item> items;
    if (part == 0 && !spread) items.push_back({matrix, 0, 0});
    for (int i = 0; i < layers[part]; ++i, ++next) {
      const costs::layer& one = model_layers[next];
      items.push_back({one.weights, one.expert_weights, one.linear_flops});
    }
    if (part + 1 == layers.size() && !spread) items.push_back({model.tied && part == 0 ? 0 : matrix, 0, 2 * matrix});
    double all = 0;
    for (const item& one : items) all += one.flops;
    std::vector<weight_bucket>& buckets = parts.emplace_back();
    double before = 0;
    for (const item& one : items) {
      if (buckets.empty() || buckets.back().all() >= enough) buckets.push_back({all > 0 ? before / all : 0, 0, 0});
      buckets.back().parameters += one.parameters;
      buckets.back().experts += one.experts;
      before += one.flops;
    }
    if (buckets.back().all() == 0) buckets.pop_back();
  }
  for (int stage = 0; spread && stage < on.stages; ++stage)
    parts.push_back({{0, on.share_of_words(stage, (model.tied ? 1 : 2) * matrix), 0}});
  return parts;
}

/// What comes after the work of a step, of the stage with the most weights, and what is reduced beside it.
struct step_ends {
  seconds after{};                                      ///< the reduction, where nothing hides it, and the optimizer
  std::vector<std::vector<gradient_bucket>> buckets{};  ///< of each part; empty: nothing is reduced beside the work

  /// `layers`: of each part, from layers_on_parts            Complexity  O(layers)
  [[nodiscard]] static step_ends of(const costs::model_shape& model, const shape& on, std::span<const int> layers,
                                    const stage_states& states, const costs::traffic& wires,
                                    const costs::stage_options& with) {
    const auto end_of = [&](double weights, double experts) {
      return step_times::of(weights, experts, on, wires, with);
    };
    const step_times heaviest = end_of(states.heaviest, states.heaviest_experts);
    if (with.reduction == costs::reduction::exposed || !on.has_copies()) return {heaviest.total(), {}};
    step_ends made{heaviest.optimizer, {}};
    for (const std::vector<weight_bucket>& part : weight_buckets(model, on, layers, with.routing)) {
      std::vector<gradient_bucket>& own = made.buckets.emplace_back();
      for (const weight_bucket& b : part) {
        const step_times end = end_of(b.parameters, b.experts);
        own.push_back({b.at, end.scatter, end.gather});
      }
    }
    return made;
  }
};

}  // namespace slimpack::detail

#endif
