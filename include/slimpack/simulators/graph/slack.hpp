#ifndef SLIMPACK_SIMULATORS_GRAPH_SLACK_HPP
#define SLIMPACK_SIMULATORS_GRAPH_SLACK_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/simulators/graph/checked_times.hpp>
#include <slimpack/simulators/graph/critical_path.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::simulators {

/// By how much each task may start later without the last one ending later.
/// Formula   latest start minus earliest, the latest being makespan - tail - duration. On the critical path it is 0 by
///           definition, where that difference is one of rounding; it is nowhere less than 0.
/// Shapes    start: one per node, what `simulator` found            Returns   one per node
/// Errors    those of the simulator and of checked_tails            Complexity  O(nodes + edges) with a shipped
///           simulator
template <class Simulator>
[[nodiscard]] result<std::vector<seconds>> slack(const task_graph& graph, std::span<const seconds> start,
                                                 const Simulator& simulator) {
  result<std::vector<seconds>> tail = checked_tails(graph, simulator.tails(graph));
  if (!tail) return tail;
  seconds makespan{};
  for (std::size_t n = 0; n < graph.size(); ++n) makespan = std::max(makespan, start[n] + graph.tasks()[n].duration);
  std::vector<seconds> slack = std::move(tail).value();
  for (std::size_t n = 0; n < graph.size(); ++n)
    slack[n] = std::max(seconds{}, (makespan - slack[n] - graph.tasks()[n].duration) - start[n]);
  for (const task_graph::node n : critical_nodes(graph, start)) slack[n] = {};
  return slack;
}

}  // namespace slimpack::simulators

#endif
