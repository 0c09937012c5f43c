#ifndef SLIMPACK_SIMULATORS_TIMELINE_HPP
#define SLIMPACK_SIMULATORS_TIMELINE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/makespan.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::simulators {

/// When everything runs: one lane per stage, in program order.
struct timeline {
  std::vector<std::vector<timed_instruction>> stages;
  seconds makespan;

  /// Share of the makespan in which a stage runs nothing.
  [[nodiscard]] double idle(std::size_t stage) const noexcept {
    seconds busy{};
    for (const timed_instruction& t : stages[stage]) busy += t.end - t.begin;
    return makespan.value > 0 ? 1 - busy / makespan : 0;
  }
};

/// The lanes of one replica of a graph: `replica` is its number there (task::replica), `start` what sweep found.
/// Complexity O(nodes)
[[nodiscard]] inline timeline lanes_of(const task_graph& graph, std::span<const seconds> start, std::size_t stages,
                                       std::size_t replica = 0) {
  timeline t;
  t.stages.resize(stages);
  for (std::size_t n = 0; n < graph.size(); ++n) {
    const task& k = graph.tasks()[n];
    if (k.replica != replica || !k.is_instruction()) continue;
    t.stages[k.stage].push_back({k.what, start[n], start[n] + k.duration});
    t.makespan = std::max(t.makespan, start[n] + k.duration);
  }
  return t;
}

/// Runs the programs of one replica in simulated time.
/// Errors    those of task_graph::assign            Complexity  O(instructions)
[[nodiscard]] inline result<timeline> simulate(const workload& work, std::span<const program> programs) {
  timeline t;
  for (const program& code : programs) t.stages.emplace_back().reserve(code.size());
  const result<seconds> makespan = detail::run_in_time(
      work, programs, [&t](std::uint32_t stage, const timed_instruction& i) { t.stages[stage].push_back(i); });
  if (!makespan) return makespan.error();
  t.makespan = makespan.value();
  return t;
}

}  // namespace slimpack::simulators

#endif
