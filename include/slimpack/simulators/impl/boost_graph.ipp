#ifndef SLIMPACK_SIMULATORS_IMPL_BOOST_GRAPH_IPP
#define SLIMPACK_SIMULATORS_IMPL_BOOST_GRAPH_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/simulators/boost_graph.hpp>
#include <slimpack/simulators/detail/longest_paths.hpp>

#include <cstddef>
#include <cstdint>

namespace slimpack::simulators {

SLIMPACK_DECL result<std::vector<seconds>> boost_graph::starts(const task_graph& graph) const {
  return detail::longest_paths({graph.tasks(), graph.rows(), graph.targets()});
}

SLIMPACK_DECL result<std::vector<seconds>> boost_graph::tails(const task_graph& graph) const {
  std::vector<std::uint32_t> rows(graph.size() + 1);
  std::vector<task_graph::node> targets(graph.edges());
  for (const task_graph::node n : graph.targets()) ++rows[n + 1];
  for (std::size_t n = 0; n < graph.size(); ++n) rows[n + 1] += rows[n];
  std::vector<std::uint32_t> next(rows.begin(), rows.end() - 1);
  for (task_graph::node n = 0; n < graph.size(); ++n)
    for (const task_graph::node m : graph.successors(n)) targets[next[m]++] = n;
  return detail::longest_paths({graph.tasks(), rows, targets});
}

}  // namespace slimpack::simulators

#endif
