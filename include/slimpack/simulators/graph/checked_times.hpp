#ifndef SLIMPACK_SIMULATORS_GRAPH_CHECKED_TIMES_HPP
#define SLIMPACK_SIMULATORS_GRAPH_CHECKED_TIMES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Whether a time is a number, and no less than another, but for the rounding of sums in another order.
[[nodiscard]] inline bool is_no_less(seconds told, seconds due) {
  return told >= due - due * 1e-9 && told <= seconds{std::numeric_limits<double>::max()};
}

/// "the simulator's answer is wrong: task 3 (forward of pack 0 on stage 1) starts at 2 s, but what it waits for ends at
/// 1 s ..."
[[nodiscard, gnu::cold, gnu::noinline]] inline error wrong_time(const simulators::task_graph& graph, std::size_t n,
                                                                seconds told, seconds due, const char* means,
                                                                const char* rule) {
  const simulators::task& t = graph.tasks()[n];
  char numbers[128];
  std::snprintf(numbers, sizeof numbers, " %s %g s, where no less than %g s can be", means, told.value, due.value);
  return {errc::invalid_input, "the simulator's answer is wrong: task " + std::to_string(n) +
                                   (t.is_message ? ", a message of the "
                                    : t.is_gate  ? ", a gate of the "
                                                 : ", the ") +
                                   name_of(t.what.pass()) + " of pack " + std::to_string(t.what.pack.value) +
                                   " on stage " + std::to_string(t.stage) + "," + numbers + "; " + rule};
}

[[nodiscard]] inline result<void> one_each(const simulators::task_graph& graph, const std::vector<seconds>& told) {
  if (told.size() == graph.size()) return success();
  return error{errc::invalid_input, "the simulator's answer is wrong: it has " + std::to_string(told.size()) +
                                        " times, the graph has " + std::to_string(graph.size()) + " tasks"};
}

}  // namespace slimpack::detail

namespace slimpack::simulators {

/// A simulator's starts, if there can be such: whatever shows or accepts a plan takes them as they are. One that starts
/// tasks later, because links are shared, say, breaks law 1 of simulators (testing/simulator_laws.hpp), but no plan.
/// Errors    the simulator's own; invalid_input: a task that starts before it can, or at no time            Complexity
///           O(nodes + edges)
[[nodiscard]] inline result<std::vector<seconds>> checked_starts(const task_graph& graph,
                                                                 result<std::vector<seconds>> told) {
  if (!told) return told;
  const std::vector<seconds>& start = told.value();
  if (result<void> fits = detail::one_each(graph, start); !fits) return std::move(fits).error();
  std::vector<seconds> ready(graph.size());
  for (task_graph::node n = 0; n < graph.size(); ++n) {
    if (!detail::is_no_less(start[n], ready[n]))
      return detail::wrong_time(graph, n, start[n], ready[n], "starts at",
                                "a task starts no earlier than the last that it waits for ends");
    const seconds end = start[n] + graph.tasks()[n].duration;
    for (const task_graph::node m : graph.successors(n)) ready[m] = std::max(ready[m], end);
  }
  return told;
}

/// A simulator's tails, if there can be such.
[[nodiscard]] inline result<std::vector<seconds>> checked_tails(const task_graph& graph,
                                                                result<std::vector<seconds>> told) {
  if (!told) return told;
  const std::vector<seconds>& tail = told.value();
  if (result<void> fits = detail::one_each(graph, tail); !fits) return std::move(fits).error();
  for (auto n = static_cast<task_graph::node>(graph.size()); n-- > 0;) {
    seconds after{};
    for (const task_graph::node m : graph.successors(n)) after = std::max(after, tail[m] + graph.tasks()[m].duration);
    if (!detail::is_no_less(tail[n], after))
      return detail::wrong_time(graph, n, tail[n], after, "has a tail of",
                                "a tail is no shorter than the longest chain of tasks that wait");
  }
  return told;
}

}  // namespace slimpack::simulators

#endif
