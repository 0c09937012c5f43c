#ifndef SLIMPACK_EXAMPLES_DEVICE_TRAINING_HPP
#define SLIMPACK_EXAMPLES_DEVICE_TRAINING_HPP

#include "layer_stage.hpp"
#include "texts.hpp"
#include "whole_batch.hpp"

#include <slimpack/core/plan.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/transports/hooks.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace device_trainer {

constexpr int shown_steps = 31;

/// What a rank saw: the loss of each step, and its gradients of the first.
struct outcome {
  std::vector<double> losses;
  std::vector<double> gradients;
};

/// A rank's training on a batch.
template <class End, class Products>
slimpack::result<outcome> train(const slimpack::plan& plan, End& on, Products products, int steps = shown_steps) {
  const texts batch(plan.lengths);
  auto stage = layer_stage<End, Products>::make(on, std::move(products), batch, on.rank() % plan.shape.stages);
  if (!stage) return std::move(stage).error();
  outcome seen;
  for (int step = 0; step < steps; ++step) {
    const auto done = slimpack::executors::packflow{}.execute(plan, stage.value(), on);
    if (!done) return done.error();
    seen.losses.push_back(done.value().loss_sum);
    if (step == 0) {
      auto gradients = stage.value().gradients();
      if (!gradients) return std::move(gradients).error();
      seen.gradients = std::move(gradients).value();
    }
    if (slimpack::result<void> changed = stage.value().step(0.3); !changed) return std::move(changed).error();
  }
  if (slimpack::result<void> ended = slimpack::finish(on); !ended)
    return std::move(ended).error();  // before the stage's memory goes
  return seen;
}

/// By how much gradients of a rank differ from those of whole texts on the host at most.
inline double difference(const whole_batch& expected, std::size_t rank, std::span<const double> gradients) {
  const std::vector<double>& of_stage = expected.gradients[rank % expected.gradients.size()];
  double most = 0;
  for (std::size_t i = 0; i < of_stage.size(); ++i) most = std::max(most, std::abs(gradients[i] - of_stage[i]));
  return most;
}

/// By how much the first step's loss and gradients, of all ranks, differ from those of whole texts on the host at most.
inline double difference(const slimpack::plan& plan, std::span<const outcome> ranks) {
  const whole_batch expected(plan.lengths, plan.shape.stages);
  double most = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    most = std::max(
        {most, std::abs(ranks[rank].losses[0] - expected.loss), difference(expected, rank, ranks[rank].gradients)});
  return most;
}

/// What the program prints.
inline std::string report(const slimpack::plan& plan, std::span<const outcome> ranks) {
  const slimpack::partition& cut = plan.replicas[0].partition;
  std::string text = std::to_string(cut.forward.slices().size()) + " slices forward, " +
                     std::to_string(cut.backward.slices().size()) + " backward\n";
  for (int step = 0; step < shown_steps; step += 10) {
    char line[64];
    std::snprintf(line, sizeof line, "step %2d, loss %.4f\n", step, ranks[0].losses[static_cast<std::size_t>(step)]);
    text += line;
  }
  const bool equal = difference(plan, ranks) < 1e-12;
  return text + (equal ? "gradients equal" : "gradients do not equal") +
         " those of whole texts on the host, to 1e-12\n";
}

}  // namespace device_trainer

#endif
