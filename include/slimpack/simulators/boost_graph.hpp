#ifndef SLIMPACK_SIMULATORS_BOOST_GRAPH_HPP
#define SLIMPACK_SIMULATORS_BOOST_GRAPH_HPP

#ifndef __cpp_exceptions
#error \
    "simulators::boost_graph needs exceptions, which Boost.Graph throws: use simulators::sweep (simulators/sweep.hpp)"
#endif

#include <slimpack/core/error.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <iosfwd>
#include <string_view>
#include <vector>

namespace slimpack::simulators {

/// Boost.Graph's algorithms over the task graph: boost::topological_sort, which finds cycles, and
/// boost::dag_shortest_paths, from one artificial source; the times after tasks over the graph with its edges turned
/// round.
/// For whom  the default: what a plan claims to take then rests on algorithms that are not ours, and that do not rely
///           on the numbers that task_graph gives to its nodes.
/// Law       testing/simulator_laws.hpp; equals simulators::sweep to the last bit, since both add the same durations in
///           the same order along the longest path
/// Errors    cyclic_schedule: tasks wait for each other            Complexity  O(nodes + edges)
struct boost_graph {
  static constexpr std::string_view name = "boost_graph";

  [[nodiscard]] result<std::vector<seconds>> starts(const task_graph& graph) const;
  [[nodiscard]] result<std::vector<seconds>> tails(const task_graph& graph) const;

  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const boost_graph&) {
    return out << "simulators::boost_graph{}";
  }
};

}  // namespace slimpack::simulators

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/simulators/impl/boost_graph.ipp>
#endif

#endif
