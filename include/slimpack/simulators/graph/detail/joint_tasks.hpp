#ifndef SLIMPACK_SIMULATORS_GRAPH_DETAIL_JOINT_TASKS_HPP
#define SLIMPACK_SIMULATORS_GRAPH_DETAIL_JOINT_TASKS_HPP

#include <slimpack/core/ensemble/ensembles.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The tasks of each ensemble. Tasks of all graphs are counted through.            Complexity  O(nodes)
[[nodiscard]] std::vector<std::vector<simulators::task_graph::node>> tasks_together(
    std::span<const simulators::task_graph> alone, ensembles& of);

/// Edges between rows that follow each other without a sharer that runs both, from one to the next on each part.
/// Requires  merges whose rows are tied
/// Complexity O(rows * sharers), and O(nodes) where there are such rows
[[nodiscard]] std::vector<std::pair<simulators::task_graph::node, simulators::task_graph::node>> edges_between_rows(
    std::span<const simulators::task_graph> alone, const ensembles& of, std::span<const std::uint32_t> group,
    std::span<const merge> merges, const shape& on);

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/simulators/graph/impl/joint_tasks.ipp>
#endif

#endif
