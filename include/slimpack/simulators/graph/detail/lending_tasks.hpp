#ifndef SLIMPACK_SIMULATORS_GRAPH_DETAIL_LENDING_TASKS_HPP
#define SLIMPACK_SIMULATORS_GRAPH_DETAIL_LENDING_TASKS_HPP

#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <vector>

namespace slimpack::detail {

/// Adds the tasks of a replica that run together because one lends another attention: those that loans join, directly
/// or by others. first: of the replica's tasks, where those of several replicas are counted through
/// Complexity  O(nodes + loans)
void add_lending_tasks(const simulators::task_graph& alone, const workload& work, simulators::task_graph::node first,
                       std::vector<std::vector<simulators::task_graph::node>>& together);

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/simulators/graph/impl/lending_tasks.ipp>
#endif

#endif
