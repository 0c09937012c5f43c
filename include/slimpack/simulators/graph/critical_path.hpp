#ifndef SLIMPACK_SIMULATORS_GRAPH_CRITICAL_PATH_HPP
#define SLIMPACK_SIMULATORS_GRAPH_CRITICAL_PATH_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/simulators/graph/checked_times.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::simulators {

/// One task of a critical path, with the time it takes of the makespan.
struct critical_task {
  task what;
  seconds start;
};

/// The chain of tasks, without a gap, whose durations add up to the makespan, gates included.
/// Shapes    start: one per node            Errors    none            Complexity  O(nodes + edges)
[[nodiscard]] inline std::vector<task_graph::node> critical_nodes(const task_graph& graph,
                                                                  std::span<const seconds> start) {
  using node = task_graph::node;
  const std::span<const task> tasks = graph.tasks();
  const auto none = static_cast<node>(graph.size());
  std::vector<node> held_by(graph.size(), none);  // the predecessor that ends last
  node end = none;
  for (node n = 0; n < none; ++n) {
    const seconds finish = start[n] + tasks[n].duration;
    for (const node m : graph.successors(n))
      if (finish == start[m]) held_by[m] = n;
    if (end == none || finish > start[end] + tasks[end].duration) end = n;
  }
  std::vector<node> path;
  for (node n = end; n != none; n = held_by[n]) path.push_back(n);
  std::reverse(path.begin(), path.end());
  return path;
}

/// The instructions and messages of that chain, without its gates: what to shorten to gain time.
/// `start` is what a simulator found (simulator_for)
/// Law       each task starts when the one before it ends; the first starts at 0
/// Errors    none            Complexity  O(nodes + edges)
[[nodiscard]] inline std::vector<critical_task> critical_path(const task_graph& graph, std::span<const seconds> start) {
  std::vector<critical_task> path;
  for (const task_graph::node n : critical_nodes(graph, start))
    if (!graph.tasks()[n].is_gate) path.push_back({graph.tasks()[n], start[n]});
  return path;
}

/// What the seconds of a critical path are spent on.
struct critical_seconds {
  seconds forward;
  seconds backward;  ///< weight gradients included
  seconds messages;
};

[[nodiscard]] inline critical_seconds seconds_on(std::span<const critical_task> path) {
  critical_seconds sum;
  for (const critical_task& c : path) {
    const bool forward = !facts_of(c.what.what.kind).weight_gradients;
    (c.what.is_message ? sum.messages : forward ? sum.forward : sum.backward) += c.what.duration;
  }
  return sum;
}

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
