#ifndef SLIMPACK_TESTS_TRAIN_HELD_HPP
#define SLIMPACK_TESTS_TRAIN_HELD_HPP

#include "../../examples/train/model/kept_states.hpp"
#include "exact_step.hpp"

#include <slimpack/core/plan.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/shared_rows.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/plan_graphs.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::tests {

/// What each stage of a replica holds at most, by its programs and what the model says that it keeps of tokens, of
/// pieces, and of the tokens of others.
[[nodiscard]] inline std::vector<double> planned_held(const train::config& model, const plan& p,
                                                      std::uint32_t replica) {
  workload work = simulators::workload_of(p, replica);
  for (int stage = 0; stage < p.shape.stages; ++stage)
    work.rates[static_cast<std::size_t>(stage)] = train::model_stage<double>::rates(model, p.shape, stage);
  work.times.kept = {};
  const auto states = train::kept_states::of<double>(model, p.shape);
  if (states.any()) slimpack::detail::follow_kept(p.replicas[replica].partition, states, p.parents, work);
  const auto packs_of = [&](std::uint32_t one) -> const partition& { return p.replicas[one].partition; };
  slimpack::detail::keep_others(simulators::shared_rows(p.merges, packs_of, replica), work);
  return simulators::peak_memory(work, p.replicas[replica].programs);
}

/// Runs the plan, and gives what each rank held at most.
template <class Stage, class Batch>
std::vector<double> held_by_step(const Batch& batch, const plan& p) {
  std::vector<double> held(static_cast<std::size_t>(ranks_of(p)));
  transports::threads world{ranks_of(p), {.time_out = {60}}};
  on_every_rank(ranks_of(p), [&](int rank) {
    auto endpoint = world.endpoint(rank);
    Stage stage(batch.model, p.shape, rank % p.shape.stages, batch.documents(p), 7);
    executors::packflow{}.execute(p, stage, endpoint).value();
    held[static_cast<std::size_t>(rank)] = stage.peak().value;
  });
  return held;
}

}  // namespace slimpack::tests

#endif
