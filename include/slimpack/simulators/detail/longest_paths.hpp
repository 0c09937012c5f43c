#ifndef SLIMPACK_SIMULATORS_DETAIL_LONGEST_PATHS_HPP
#define SLIMPACK_SIMULATORS_DETAIL_LONGEST_PATHS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/simulators/graph/rooted_graph.hpp>

#include <boost/graph/dag_shortest_paths.hpp>
#include <boost/graph/exception.hpp>
#include <boost/graph/topological_sort.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <boost/property_map/property_map.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
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
  const auto weight = boost::make_function_property_map<rooted_graph::edge>(
      [&](const rooted_graph::edge& e) { return graph.weight(e); });
  const seconds unreached{-std::numeric_limits<double>::infinity()};
  std::vector<seconds> longest(graph.size());
  // Distances in reversed order make longest paths of shortest ones.
  boost::dag_shortest_paths(graph, graph.root(), boost::make_iterator_property_map(longest.begin(), index), weight,
                            color, boost::dummy_property_map(), boost::dijkstra_visitor<>(), std::greater<seconds>(),
                            std::plus<seconds>(), unreached, seconds{});
  longest.pop_back();
  return longest;
}

}  // namespace slimpack::detail

#endif
