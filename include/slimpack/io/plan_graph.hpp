#ifndef SLIMPACK_IO_PLAN_GRAPH_HPP
#define SLIMPACK_IO_PLAN_GRAPH_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/simulators/boost_graph.hpp>
#include <slimpack/simulators/graph/critical_path.hpp>
#include <slimpack/simulators/plan_graphs.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphviz.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::io {

/// Drawings of more tasks than this are no use to anybody.
inline constexpr std::size_t most_drawn_tasks = 2000;

namespace detail {

/// What Graphviz is told of a task or of an edge.
struct drawn {
  std::string label;
  std::string shape;
  bool critical{};

  friend std::ostream& operator<<(std::ostream& out, const drawn& d) {
    out << "[";
    if (!d.shape.empty()) out << "label=\"" << d.label << "\", shape=" << d.shape << (d.critical ? ", " : "");
    return out << (d.critical ? "color=red, fontcolor=red" : "") << "]";
  }
};

using drawn_graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, drawn, drawn>;

/// "F3.1 on stage 2 of replica 0", how long it takes, and by how much it could start later.
[[nodiscard]] inline drawn drawn_task(const simulators::task& t, std::uint32_t replica, seconds slack, bool critical) {
  std::ostringstream label;
  if (t.is_gate) return {"row", "point", critical};
  if (t.is_message) {
    label << t.duration.value << " s";
    return {label.str(), "plaintext", critical};
  }
  const instruction& i = t.what;
  label << letter_of(i) << i.pack.value;
  if (i.chunk > 0) label << '.' << i.chunk;
  label << "\\nreplica " << replica << ", stage " << t.stage << "\\n"
        << t.duration.value << " s, slack " << slack.value << " s";
  return {label.str(), "box", critical};
}

inline void write_drawing(std::ostream& out, const drawn_graph& drawing) {
  boost::write_graphviz(
      out, drawing, [&](std::ostream& to, std::size_t n) { to << drawing[n]; },
      [&](std::ostream& to, const auto& edge) { to << drawing[edge]; },
      [](std::ostream& to) { to << "rankdir=LR;\nnode [fontname=\"sans-serif\"];\n"; });
}

/// When the last task of the group that is there ends.
template <class Simulator>
[[nodiscard]] seconds end_of(const simulators::plan_graphs<Simulator>& graphs) {
  seconds end{};
  for (std::size_t n = 0; n < graphs.graph().size(); ++n)
    end = std::max(end, graphs.start()[n] + graphs.graph().tasks()[n].duration);
  return end;
}

/// When the last task of all groups ends.
template <class Simulator>
[[nodiscard]] result<seconds> end_of_all(simulators::plan_graphs<Simulator>& graphs) {
  seconds last{};
  std::size_t tasks = 0;
  for (const std::vector<std::uint32_t>& group : graphs.groups()) {
    if (result<void> built = graphs.select(group.front()); !built) return built.error();
    tasks += graphs.graph().size();
    if (tasks > most_drawn_tasks)
      return error{errc::invalid_input,
                   "the plan has more than " + std::to_string(most_drawn_tasks) +
                       " tasks (instructions and messages), too many to draw: draw a plan of fewer "
                       "sequences or stages, or look at its timeline"};
    last = std::max(last, end_of(graphs));
  }
  return last;
}

}  // namespace detail

/// Draws a plan's task graph in the language of Graphviz: instructions as boxes, messages as their times, the gates of
/// shared rows as points, the critical path of the step in red. For small plans.
/// Groups of replicas that share nothing run apart: only in those that end last is a path critical for the step, and
/// the tasks of the others have as much more slack as their group ends earlier.
/// Errors    invalid_input: more tasks than most_drawn_tasks; those of plan_graphs and of the simulator
/// Complexity O(nodes + edges); each group is simulated twice, since slack needs the end of all
template <class Simulator = simulators::boost_graph>
[[nodiscard]] result<void> write_graph(std::ostream& out, const plan& p, const Simulator& simulator = {}) {
  detail::drawn_graph drawing;
  simulators::plan_graphs graphs(p, simulator);
  const result<seconds> last = detail::end_of_all(graphs);
  if (!last) return last.error();
  for (const std::vector<std::uint32_t>& group : graphs.groups()) {
    if (result<void> built = graphs.select(group.front()); !built) return built;
    const simulators::task_graph& graph = graphs.graph();
    const std::size_t first = num_vertices(drawing);
    const result<std::vector<seconds>> slack = simulators::slack(graph, graphs.start(), simulator);
    if (!slack) return slack.error();
    const seconds earlier = last.value() - detail::end_of(graphs);
    std::vector<simulators::task_graph::node> path;
    if (earlier == seconds{}) path = simulators::critical_nodes(graph, graphs.start());
    std::vector<simulators::task_graph::node> next(graph.size(),
                                                   static_cast<simulators::task_graph::node>(graph.size()));
    std::vector<char> critical(graph.size(), 0);
    for (std::size_t k = 0; k < path.size(); ++k) {
      critical[path[k]] = 1;
      if (k + 1 < path.size()) next[path[k]] = path[k + 1];
    }
    for (std::size_t n = 0; n < graph.size(); ++n) {
      const simulators::task& t = graph.tasks()[n];
      add_vertex(detail::drawn_task(t, group[t.replica], slack.value()[n] + earlier, critical[n] != 0), drawing);
    }
    for (simulators::task_graph::node n = 0; n < graph.size(); ++n)
      for (const simulators::task_graph::node m : graph.successors(n))
        add_edge(first + n, first + m, detail::drawn{{}, {}, next[n] == m}, drawing);
  }
  detail::write_drawing(out, drawing);
  return success();
}

}  // namespace slimpack::io

#endif
