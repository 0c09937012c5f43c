#ifndef SLIMPACK_SIMULATORS_GRAPH_JOINT_HPP
#define SLIMPACK_SIMULATORS_GRAPH_JOINT_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/detail/disjoint_sets.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Replicas that share sequences run together; all others run on their own.
namespace slimpack::simulators {

/// The replicas in groups that no merge joins, each ascending, by their first replica. Most are groups of one.
/// Requires  merges that name replicas there are            Complexity  O(replicas + sharers)
[[nodiscard]] inline std::vector<std::vector<std::uint32_t>> joint_groups(std::span<const merge> merges,
                                                                          std::size_t replicas) {
  detail::disjoint_sets joined(replicas);
  for (const merge& m : merges)
    for (const std::uint32_t r : m.replicas) joined.unite(m.replicas.front(), r);
  std::vector<std::vector<std::uint32_t>> groups;
  std::vector<std::size_t> group_of(replicas);
  for (std::uint32_t r = 0; r < replicas; ++r) {
    const std::uint32_t home = joined.representative(r);
    if (home == r) group_of[r] = groups.size(), groups.emplace_back();
    groups[group_of[home]].push_back(r);
  }
  return groups;
}

/// The task graph of the replicas of a group, whose tasks name their position in it. On each stage the packs of a row
/// start together and end together; packs that hold pieces of two rows tie both together.
/// work_of(replica), programs_of(replica): workload and programs of a replica of the plan
/// Errors    those of task_graph::assign; invalid_input: a row that names no pack; cyclic_schedule: replicas that run the
///           rows of what they share in different orders
/// Complexity O(instructions + rows * sharers)
template <class WorkOf, class ProgramsOf>
[[nodiscard]] result<task_graph> joint_graph(std::span<const std::uint32_t> group, const WorkOf& work_of,
                                             const ProgramsOf& programs_of, std::span<const merge> merges) {
  using node = task_graph::node;
  std::vector<task_graph> alone(group.size());
  for (std::size_t g = 0; g < group.size(); ++g) {
    result<void> built = alone[g].assign(work_of(group[g]), programs_of(group[g]));
    if (!built)
      return group.size() == 1 ? std::move(built).error()
                               : error{built.error().code, "replica " + std::to_string(group[g]) + ": " + built.error().detail};
  }
  if (group.size() == 1) return std::move(alone.front());

  // Packs of both passes of all replicas in one row of numbers; of those that run together the smallest stands for all.
  std::vector<std::uint32_t> first_of;  // by position and pass: its first pack's number
  std::uint32_t packs = 0;
  for (const std::uint32_t r : group)
    for (const pass p : {pass::forward, pass::backward}) {
      first_of.push_back(packs);
      packs += static_cast<std::uint32_t>(work_of(r).of(p).size());
    }
  const auto number = [&](std::size_t position, pass p, pack_id pack) {
    return first_of[2 * position + (p == pass::backward)] + pack.value;
  };
  detail::disjoint_sets tied(packs);
  std::vector<bool> has_row(packs, false);
  for (const merge& m : merges) {
    const auto position = [&](std::size_t k) {
      const auto at = std::lower_bound(group.begin(), group.end(), m.replicas[k]);
      return static_cast<std::size_t>(at - group.begin());
    };
    if (position(0) == group.size() || group[position(0)] != m.replicas[0]) continue;
    for (const pass p : {pass::forward, pass::backward}) {
      for (const std::vector<pack_id>& row : m.of(p)) {
        for (std::size_t k = 0; k < row.size(); ++k) {
          if (row[k].value >= work_of(m.replicas[k]).of(p).size())
            return error{errc::invalid_input, "a row of sequence " + std::to_string(m.sequence.value) + " names pack " +
                                                  std::to_string(row[k].value) + " of replica " +
                                                  std::to_string(m.replicas[k]) + ", which has no such pack"};
          const std::uint32_t own = number(position(k), p, row[k]);
          tied.unite(number(position(0), p, row[0]), own);
          has_row[own] = true;
        }
      }
    }
  }
  // A set for each pack that stands for others, on each part.
  const auto parts = static_cast<std::size_t>(work_of(group.front()).shape.parts());
  const auto stages = static_cast<std::size_t>(work_of(group.front()).shape.stages);
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> set_at(packs * parts, none);
  std::vector<std::vector<node>> together;
  node n = 0;
  for (std::size_t g = 0; g < group.size(); ++g) {
    for (const task& t : alone[g].tasks()) {
      if (t.is_instruction() && !t.what.weights_only) {
        const std::uint32_t own = number(g, t.what.pass, t.what.pack);
        if (has_row[own]) {
          std::uint32_t& set = set_at[tied.representative(own) * parts + t.what.chunk * stages + t.stage];
          if (set == none) set = static_cast<std::uint32_t>(together.size()), together.emplace_back();
          together[set].push_back(n);
        }
      }
      ++n;
    }
  }
  task_graph joined;
  if (result<void> made = joined.join(alone, together); !made) return std::move(made).error();
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

#endif
