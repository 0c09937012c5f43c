#ifndef SLIMPACK_SIMULATOR_BGL_HPP
#define SLIMPACK_SIMULATOR_BGL_HPP

#include <slimpack/core/plan.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/graph/plan_graphs.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <boost/graph/dag_shortest_paths.hpp>
#include <boost/graph/exception.hpp>
#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/counting_iterator.hpp>
#include <boost/iterator/iterator_facade.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <boost/property_map/property_map.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

/// Makes task_graph a model of Boost.Graph's VertexListGraph and IncidenceGraph, so that Boost's algorithms run on
/// it as it is; and certifies a simulation with them. The one header that includes Boost.Graph.
namespace slimpack::simulators {

/// The k-th successor of a node.
struct task_edge {
  task_graph::node from{};
  std::uint32_t rank{};
  friend constexpr bool operator==(const task_edge&, const task_edge&) = default;
};

class out_edge_iterator
    : public boost::iterator_facade<out_edge_iterator, task_edge, boost::forward_traversal_tag, task_edge> {
 public:
  out_edge_iterator() = default;
  explicit out_edge_iterator(task_edge e) : edge_(e) {}

 private:
  friend class boost::iterator_core_access;
  [[nodiscard]] task_edge dereference() const { return edge_; }
  [[nodiscard]] bool equal(const out_edge_iterator& other) const { return edge_ == other.edge_; }
  void increment() { ++edge_.rank; }
  task_edge edge_;
};

}  // namespace slimpack::simulators

namespace boost {
template <>
struct graph_traits<slimpack::simulators::task_graph> {
  using vertex_descriptor = slimpack::simulators::task_graph::node;
  using edge_descriptor = slimpack::simulators::task_edge;
  using directed_category = directed_tag;
  using edge_parallel_category = allow_parallel_edge_tag;
  struct traversal_category : vertex_list_graph_tag, incidence_graph_tag {};
  using vertex_iterator = counting_iterator<vertex_descriptor>;
  using vertices_size_type = std::size_t;
  using out_edge_iterator = slimpack::simulators::out_edge_iterator;
  using degree_size_type = std::size_t;
  static vertex_descriptor null_vertex() { return std::numeric_limits<vertex_descriptor>::max(); }
};
}  // namespace boost

namespace slimpack::simulators {

[[nodiscard]] inline std::size_t num_vertices(const task_graph& g) { return g.size(); }
[[nodiscard]] inline auto vertices(const task_graph& g) {
  using iterator = boost::graph_traits<task_graph>::vertex_iterator;
  return std::pair{iterator(0), iterator(static_cast<task_graph::node>(g.size()))};
}
[[nodiscard]] inline std::size_t out_degree(task_graph::node n, const task_graph& g) { return g.successors(n).size(); }
[[nodiscard]] inline auto out_edges(task_graph::node n, const task_graph& g) {
  return std::pair{out_edge_iterator({n, 0}), out_edge_iterator({n, static_cast<std::uint32_t>(g.successors(n).size())})};
}
[[nodiscard]] inline task_graph::node source(task_edge e, const task_graph&) { return e.from; }
[[nodiscard]] inline task_graph::node target(task_edge e, const task_graph& g) { return g.successors(e.from)[e.rank]; }

/// When each task starts, by Boost.Graph: dag_shortest_paths with the order of distances reversed, which makes longest
/// paths of shortest ones, from every source of the graph.
/// Law       equals task_graph::sweep exactly: both add the same durations in the same order along the longest path
/// Errors    cyclic_schedule: boost::topological_sort, which is part of it, finds a cycle; or no source leads to a task
/// Complexity O(sources * (nodes + edges)); a plan's graph has a source for each replica
[[nodiscard]] inline result<std::vector<seconds>> certified_starts(const task_graph& graph) {
  using node = task_graph::node;
  const auto size = static_cast<node>(graph.size());
  const boost::identity_property_map index;
  std::vector<boost::default_color_type> colors(size);
  const auto color = boost::make_iterator_property_map(colors.begin(), index);
  std::vector<char> has_predecessor(size, 0);
  for (node n = 0; n < size; ++n)
    for (const node m : graph.successors(n)) has_predecessor[m] = 1;
  const auto weight = boost::make_function_property_map<task_edge>(
      [&](const task_edge& e) { return graph.tasks()[e.from].duration.value; });
  const double unreached = -std::numeric_limits<double>::infinity();
  std::vector<double> start(size, unreached);
  const auto distance = boost::make_iterator_property_map(start.begin(), index);
  std::vector<seconds> latest(size, seconds{unreached});
  const error cycle{errc::cyclic_schedule, "Boost.Graph finds a cycle in the task graph"};
  for (node n = 0; n < size; ++n) {
    if (has_predecessor[n]) continue;
    std::fill(colors.begin(), colors.end(), boost::white_color);
    try {
      boost::dag_shortest_paths(graph, n, distance, weight, color, boost::dummy_property_map(), boost::dijkstra_visitor<>(),
                                std::greater<double>(), [](double a, double b) { return a + b; }, unreached, 0.0);
    } catch (const boost::not_a_dag&) {
      return cycle;
    }
    for (node m = 0; m < size; ++m) latest[m] = std::max(latest[m], seconds{start[m]});
  }
  if (std::find(latest.begin(), latest.end(), seconds{unreached}) != latest.end()) return cycle;
  return latest;
}

/// The makespan by Boost.Graph.
/// Errors    those of certified_starts            Complexity  O(nodes + edges)
[[nodiscard]] inline result<seconds> certified_makespan(const task_graph& graph) {
  const result<std::vector<seconds>> start = certified_starts(graph);
  if (!start) return start.error();
  seconds makespan{};
  for (std::size_t n = 0; n < graph.size(); ++n) makespan = std::max(makespan, start.value()[n] + graph.tasks()[n].duration);
  return makespan;
}

/// Whether Boost.Graph finds the makespan of each of a plan's replicas that the plan claims, to the last bit.
/// Errors    invalid_input: it does not; those of joint_graph and certified_starts
/// Complexity that of joint_graph and of certified_starts
[[nodiscard]] inline result<void> certify(const plan& p) {
  plan_graphs graphs(p);
  for (const std::vector<std::uint32_t>& group : graphs.groups()) {
    if (result<void> built = graphs.select(group.front()); !built) return built;
    const result<std::vector<seconds>> start = certified_starts(graphs.graph());
    if (!start) return start.error();
    const std::vector<seconds> ends = ends_of(graphs.graph(), start.value(), group.size());
    for (std::size_t g = 0; g < group.size(); ++g)
      if (ends[g] != p.replicas[group[g]].makespan)
        return error{errc::invalid_input, "replica " + std::to_string(group[g]) + " claims a makespan of " +
                                              std::to_string(p.replicas[group[g]].makespan.value) +
                                              " s, Boost.Graph finds " + std::to_string(ends[g].value)};
  }
  return success();
}

}  // namespace slimpack::simulators

#endif
