// A simulator of one's own: tasks run as they become ready, without relying on their numbers. Checked by the laws,
// beside one with a slip, then used by a planner, which makes the same plan as with the shipped one.
#include <slimpack/basic_planner.hpp>
#include <slimpack/simulators/graph/critical_path.hpp>
#include <slimpack/simulators/plan_graphs.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/testing/simulator_laws.hpp>

#include <algorithm>
#include <iostream>
#include <string_view>
#include <vector>

using slimpack::simulators::task_graph;

struct ready_queue {
  static constexpr std::string_view name = "ready_queue";

  slimpack::result<std::vector<slimpack::seconds>> starts(const task_graph& graph) const {
    const std::vector<task_graph::node> order = runnable(graph);
    if (order.size() < graph.size())
      return slimpack::error{slimpack::errc::cyclic_schedule, "tasks wait for each other"};
    std::vector<slimpack::seconds> start(graph.size());
    for (const task_graph::node n : order)
      for (const task_graph::node m : graph.successors(n))
        start[m] = std::max(start[m], start[n] + graph.tasks()[n].duration);
    return start;
  }

  slimpack::result<std::vector<slimpack::seconds>> tails(const task_graph& graph) const {
    std::vector<task_graph::node> order = runnable(graph);
    if (order.size() < graph.size())
      return slimpack::error{slimpack::errc::cyclic_schedule, "tasks wait for each other"};
    std::reverse(order.begin(), order.end());
    std::vector<slimpack::seconds> tail(graph.size());
    for (const task_graph::node n : order)
      for (const task_graph::node m : graph.successors(n))
        tail[n] = std::max(tail[n], tail[m] + graph.tasks()[m].duration);
    return tail;
  }

  /// Tasks in an order in which each comes after all that it waits for; those of a cycle are left out.
  static std::vector<task_graph::node> runnable(const task_graph& graph) {
    std::vector<int> missing(graph.size());
    for (const task_graph::node m : graph.targets()) ++missing[m];
    std::vector<task_graph::node> order;
    for (task_graph::node n = 0; n < graph.size(); ++n)
      if (missing[n] == 0) order.push_back(n);
    for (std::size_t i = 0; i < order.size(); ++i)
      for (const task_graph::node m : graph.successors(order[i]))
        if (--missing[m] == 0) order.push_back(m);
    return order;
  }
};

// The same with a slip: messages arrive at once.
struct instant_messages : ready_queue {
  slimpack::result<std::vector<slimpack::seconds>> starts(const task_graph& graph) const {
    std::vector<slimpack::seconds> start(graph.size());
    for (const task_graph::node n : runnable(graph))
      for (const task_graph::node m : graph.successors(n)) {
        const slimpack::simulators::task& t = graph.tasks()[n];
        start[m] = std::max(start[m], t.is_message ? start[n] : start[n] + t.duration);
      }
    return start;
  }
};

int main() {
  // Both reports are shown here. In a test, assert one, since it converts to bool: EXPECT_TRUE(report) << report.
  std::cout << slimpack::testing::simulator_laws(ready_queue{});
  std::cout << "\n" << slimpack::testing::simulator_laws(instant_messages{}) << "\n";

  const std::vector<slimpack::tokens> lengths{{65536}, {30000}, {3000}, {2000}, {20000}, {900}};
  const auto planned = [&](auto simulator) {
    return slimpack::basic_planner{{.stages = 4}, {}, {}, {}, {}, simulator}(lengths).value();
  };
  const slimpack::plan mine = planned(ready_queue{});
  const bool same = mine.hash == planned(slimpack::simulators::sweep{}).hash;
  std::cout << "simulated by " << mine.simulator << ": " << (same ? "the same plan as by sweep" : "another plan")
            << "\n";

  // What shows a plan simulates it again, by the simulator it is given: write_timeline, write_trace and write_graph
  // take one, too.
  slimpack::simulators::plan_graphs graphs(mine, ready_queue{});
  graphs.select(0).value();
  const auto path = slimpack::simulators::critical_path(graphs.graph(), graphs.start());
  const slimpack::seconds end = path.back().start + path.back().what.duration;
  std::cout << "its critical path ends " << (end == mine.step_time ? "with" : "before") << " the step\n";
}
