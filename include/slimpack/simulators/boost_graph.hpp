#ifndef SLIMPACK_SIMULATORS_BOOST_GRAPH_HPP
#define SLIMPACK_SIMULATORS_BOOST_GRAPH_HPP

#ifndef __cpp_exceptions
#error "simulators::boost_graph needs exceptions, which Boost.Graph throws: use simulators::sweep (simulators/sweep.hpp)"
#endif

#include <slimpack/core/error.hpp>
#include <slimpack/simulators/graph/rooted_graph.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <boost/graph/dag_shortest_paths.hpp>
#include <boost/graph/exception.hpp>
#include <boost/graph/topological_sort.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <boost/property_map/property_map.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace slimpack::detail {

/// The longest path from the source to each task, by Boost.Graph.
/// Errors    cyclic_schedule: tasks wait for each other            Complexity  O(nodes + edges)
[[nodiscard]] inline result<std::vector<seconds>> longest_paths(const simulators::rooted_graph& graph) {
  using simulators::rooted_graph;
  const boost::identity_property_map index;
  std::vector<boost::default_color_type> colors(graph.size());
  const auto color = boost::make_iterator_property_map(colors.begin(), index);
  std::vector<rooted_graph::node> order;  // which is not needed: that there is one is
  try {
    boost::topological_sort(graph, std::back_inserter(order), boost::vertex_index_map(index).color_map(color));
  } catch (const boost::not_a_dag&) {
    return error{errc::cyclic_schedule, "Boost.Graph finds a cycle in the task graph"};
  }
  std::fill(colors.begin(), colors.end(), boost::white_color);
  const auto weight =
      boost::make_function_property_map<rooted_graph::edge>([&](const rooted_graph::edge& e) { return graph.weight(e); });
  const seconds unreached{-std::numeric_limits<double>::infinity()};
  std::vector<seconds> longest(graph.size());
  // Distances in reversed order make longest paths of shortest ones.
  boost::dag_shortest_paths(graph, graph.root(), boost::make_iterator_property_map(longest.begin(), index), weight, color,
                            boost::dummy_property_map(), boost::dijkstra_visitor<>(), std::greater<seconds>(),
                            std::plus<seconds>(), unreached, seconds{});
  longest.pop_back();
  return longest;
}

}  // namespace slimpack::detail

namespace slimpack::simulators {

/// Boost.Graph's algorithms over the task graph: boost::topological_sort, which finds cycles, and
/// boost::dag_shortest_paths, from one artificial source; the times after tasks over the graph with its edges turned round.
/// For whom  the default: what a plan claims to take then rests on algorithms that are not ours, and that do not rely on
///           the numbers that task_graph gives to its nodes.
/// Law       testing/simulator_laws.hpp; equals simulators::sweep to the last bit, since both add the same durations in
///           the same order along the longest path
/// Errors    cyclic_schedule: tasks wait for each other            Complexity  O(nodes + edges)
struct boost_graph {
  static constexpr std::string_view name = "boost_graph";

  [[nodiscard]] result<std::vector<seconds>> starts(const task_graph& graph) const {
    return detail::longest_paths({graph.tasks(), graph.rows(), graph.targets()});
  }

  [[nodiscard]] result<std::vector<seconds>> tails(const task_graph& graph) const {
    std::vector<std::uint32_t> rows(graph.size() + 1);
    std::vector<task_graph::node> targets(graph.edges());
    for (const task_graph::node n : graph.targets()) ++rows[n + 1];
    for (std::size_t n = 0; n < graph.size(); ++n) rows[n + 1] += rows[n];
    std::vector<std::uint32_t> next(rows.begin(), rows.end() - 1);
    for (task_graph::node n = 0; n < graph.size(); ++n)
      for (const task_graph::node m : graph.successors(n)) targets[next[m]++] = n;
    return detail::longest_paths({graph.tasks(), rows, targets});
  }

  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const boost_graph&) {
    return out << "simulators::boost_graph{}";
  }
};

}  // namespace slimpack::simulators

#endif
