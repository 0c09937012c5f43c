#ifndef SLIMPACK_SIMULATORS_GRAPH_JOINT_HPP
#define SLIMPACK_SIMULATORS_GRAPH_JOINT_HPP

#include <slimpack/core/ensemble/ensembles.hpp>
#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
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

/// Replicas that share sequences run together; all others run on their own.
namespace slimpack::simulators {

/// The replicas in groups that no merge joins, each ascending, by their first replica. Most are groups of one.
/// Requires  merges that name replicas there are            Complexity  O(replicas + sharers)
[[nodiscard]] std::vector<std::vector<std::uint32_t>> joint_groups(std::span<const merge> merges, std::size_t replicas);

/// The task graphs of the replicas of a group, and what ties them: ensembles start together and end together.
struct tied_graphs {
  std::vector<task_graph> alone;                          ///< by position in the group
  std::vector<std::vector<task_graph::node>> together{};  ///< as task_graph::join takes them
  std::vector<std::pair<task_graph::node, task_graph::node>> between{};
  bool stages_are_tied{};

  /// One graph of all, whose tasks name their replica's position.
  /// Errors    cyclic_schedule: replicas that run the rows of what they share in different orders, or stages that run
  ///           instructions together in an order in which they wait for each other
  [[nodiscard]] result<task_graph> joined() && {
    if (is_one()) return std::move(alone.front());
    task_graph all;
    if (result<void> made = all.join(alone, together, between); !made) return told(std::move(made).error());
    return all;
  }

  /// Its makespan, without making it.            Errors    the same
  [[nodiscard]] result<seconds> makespan() const {
    std::vector<seconds> start;
    if (is_one()) return alone.front().sweep(start);
    result<seconds> found = task_graph::joint_makespan(alone, together, between);
    return found ? std::move(found) : told(std::move(found).error());
  }

 private:
  [[nodiscard]] bool is_one() const noexcept { return alone.size() == 1 && !stages_are_tied; }
  [[nodiscard]] error told(error why) const {
    if (!stages_are_tied) return why;
    return tied_stages_wait(why.code, alone.size() > 1 ? ", and replicas that share rows," : "");
  }
};

/// Makes the task graphs of the replicas of a group, and ties them.
/// work_of(replica), programs_of(replica): workload and programs of a replica of the plan
/// Errors    those of task_graph::assign; invalid_input: a row or a tie that names no pack
/// Complexity O(instructions + rows * sharers)
template <class WorkOf, class ProgramsOf>
[[nodiscard]] result<tied_graphs> tie_graphs(std::span<const std::uint32_t> group, const WorkOf& work_of,
                                             const ProgramsOf& programs_of, std::span<const merge> merges) {
  tied_graphs tied{std::vector<task_graph>(group.size())};
  for (std::size_t g = 0; g < group.size(); ++g) {
    result<void> built = tied.alone[g].assign(work_of(group[g]), programs_of(group[g]));
    if (!built)
      return group.size() == 1
                 ? std::move(built).error()
                 : error{built.error().code, "replica " + std::to_string(group[g]) + ": " + built.error().detail};
  }
  tied.stages_are_tied =
      std::any_of(group.begin(), group.end(), [&](std::uint32_t r) { return ties_stages(work_of(r)); });
  if (group.size() == 1 && !tied.stages_are_tied) return tied;

  const shape& on = work_of(group.front()).shape;
  ensembles of(on, group.size(), [&](std::size_t g, pass p) { return work_of(group[g]).times.packs(p); });
  if (result<void> rows = of.tie_rows(group, merges); !rows) return std::move(rows).error();
  for (std::size_t g = 0; g < group.size(); ++g)
    if (result<void> stages = of.tie_stages(g, work_of(group[g])); !stages) return std::move(stages).error();
  tied.together = detail::tasks_together(tied.alone, of);
  tied.between = detail::edges_between_rows(tied.alone, of, group, merges, on);
  return tied;
}

/// The task graph of the replicas of a group: tie_graphs, joined.
template <class WorkOf, class ProgramsOf>
[[nodiscard]] result<task_graph> joint_graph(std::span<const std::uint32_t> group, const WorkOf& work_of,
                                             const ProgramsOf& programs_of, std::span<const merge> merges) {
  result<tied_graphs> tied = tie_graphs(group, work_of, programs_of, merges);
  if (!tied) return std::move(tied).error();
  return std::move(tied).value().joined();
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
