#ifndef SLIMPACK_SIMULATORS_GRAPH_JOINT_HPP
#define SLIMPACK_SIMULATORS_GRAPH_JOINT_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/detail/lending_tasks.hpp>
#include <slimpack/simulators/graph/detail/tied_packs.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Replicas that share sequences run together; all others run on their own.
namespace slimpack::simulators {

/// The replicas in groups that no merge joins, each ascending, by their first replica. Most are groups of one.
/// Requires  merges that name replicas there are            Complexity  O(replicas + sharers)
[[nodiscard]] std::vector<std::vector<std::uint32_t>> joint_groups(std::span<const merge> merges,
                                                                   std::size_t replicas);

/// The task graph of the replicas of a group, whose tasks name their position in it. On each stage the packs of a row
/// start together and end together; packs that hold slices of two rows tie both together. So do instructions of stages that lend each
/// other attention.
/// work_of(replica), programs_of(replica): workload and programs of a replica of the plan
/// Errors    those of task_graph::assign; invalid_input: a row that names no pack; cyclic_schedule: replicas that run the
///           rows of what they share in different orders, or stages lend attention in an order in which they wait for each other
/// Complexity O(instructions + rows * sharers)
template <class WorkOf, class ProgramsOf>
[[nodiscard]] result<task_graph> joint_graph(std::span<const std::uint32_t> group, const WorkOf& work_of,
                                             const ProgramsOf& programs_of, std::span<const merge> merges) {
  std::vector<task_graph> alone(group.size());
  for (std::size_t g = 0; g < group.size(); ++g) {
    result<void> built = alone[g].assign(work_of(group[g]), programs_of(group[g]));
    if (!built)
      return group.size() == 1 ? std::move(built).error()
                               : error{built.error().code, "replica " + std::to_string(group[g]) + ": " + built.error().detail};
  }
  const bool lent = std::any_of(group.begin(), group.end(), [&](std::uint32_t r) { return !work_of(r).loans.empty(); });
  if (group.size() == 1 && !lent) return std::move(alone.front());

  detail::tied_packs packs(group.size(), [&](std::size_t g, pass p) { return work_of(group[g]).of(p).size(); });
  if (result<void> tied = detail::tie_rows(packs, group, merges); !tied) return std::move(tied).error();
  std::vector<std::vector<task_graph::node>> together =
      detail::tasks_together(alone, packs, work_of(group.front()).shape);
  for (std::size_t g = 0, first = 0; g < group.size(); first += alone[g++].size())
    detail::add_lending_tasks(alone[g], work_of(group[g]), static_cast<task_graph::node>(first), together);
  task_graph joined;
  const auto between = detail::edges_between_rows(alone, packs, group, merges, work_of(group.front()).shape);
  if (result<void> made = joined.join(alone, together, between); !made)
    return lent ? error{made.error().code, "stages that lend wait for each other: order packs by one_f_one_b with a lead of 2, or choose lending none"}
                : std::move(made).error();
  return joined;
}

/// The end of the last task of each replica of a graph, `replicas` of them.
/// `start` is what task_graph::sweep found            Complexity  O(nodes)
[[nodiscard]] inline std::vector<seconds> ends_of(const task_graph& graph, std::span<const seconds> start,
                                                  std::size_t replicas) {
  std::vector<seconds> ends(replicas);
  for (std::size_t n = 0; n < graph.size(); ++n) {
    const task& t = graph.tasks()[n];
    ends[t.replica] = std::max(ends[t.replica], start[n] + t.duration);
  }
  return ends;
}

}  // namespace slimpack::simulators

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/simulators/graph/impl/joint.ipp>
#endif

#endif
