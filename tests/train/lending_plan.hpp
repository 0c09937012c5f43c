#ifndef SLIMPACK_TESTS_TRAIN_LENDING_PLAN_HPP
#define SLIMPACK_TESTS_TRAIN_LENDING_PLAN_HPP

#include "../executors/spread_plan.hpp"
#include "exact_step.hpp"

#include <slimpack/basic_planner.hpp>
#include <slimpack/core/lending/detail/loan_fault.hpp>
#include <slimpack/core/lending/loans_of.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/baselines/slimpipe.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

/// Plans whose stages lend each other attention, and batches for them.
namespace slimpack::tests {

/// Rows of one sequence and of several, which begin and end inside slices.
inline const std::vector<tokens> lengths_to_lend{{96}, {96}, {50}, {30}, {96}, {70}, {26}, {96}, {16}, {90}};

/// As many layers on each part.
[[nodiscard]] inline exact_batch batch_to_lend(std::uint64_t seed, const shape& on, int layers_each) {
  train::config c = small_model;
  c.layers = on.parts() * layers_each;
  return exact_batch(seed, c, on.quantum, lengths_to_lend);
}

[[nodiscard]] inline plan lending_plan(std::span<const tokens> lengths, const shape& on, int slices,
                                       attention_lending lending) {
  const auto recipe = baselines::slimpipe(on, {}, slices, lending);
  return basic_planner{
      on, recipe.slicer, vocabulary_cost(), recipe.solver, recipe.schedule, simulators::sweep{}}(lengths)
      .value();
}

struct lock_step_count {
  std::size_t all{};
  std::size_t lending{};
};
[[nodiscard]] inline lock_step_count lock_steps_of(const plan& p) {
  lock_step_count count;
  for (const replica_plan& r : p.replicas) {
    const detail::lock_steps steps(r.partition.forward.size(), p.shape);
    std::set<std::pair<pass, std::size_t>> lending;
    for (const loan& l : r.loans) lending.insert({l.pass(), steps.step_of(l.lender.what, l.lender.stage)});
    count.all += 2 * steps.size(), count.lending += lending.size();
  }
  return count;
}

}  // namespace slimpack::tests

#endif
