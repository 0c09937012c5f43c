#ifndef SLIMPACK_SIMULATOR_JOINT_HPP
#define SLIMPACK_SIMULATOR_JOINT_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/workload.hpp>
#include <slimpack/simulator/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// Replicas that share sequences run together; all others run on their own.
namespace slimpack::simulator {

/// The replicas in groups that no merge joins, each ascending, by their first replica. Most are groups of one.
/// Requires  merges that name replicas there are            Complexity  O(replicas + sharers)
[[nodiscard]] inline std::vector<std::vector<std::uint32_t>> joint_groups(std::span<const merge> merges,
                                                                          std::size_t replicas) {
  std::vector<std::uint32_t> first(replicas);  // a smaller replica of the group, at last the smallest
  std::iota(first.begin(), first.end(), 0u);
  const auto smallest = [&](std::uint32_t r) {
    while (first[r] != r) r = first[r] = first[first[r]];
    return r;
  };
  for (const merge& m : merges) {
    for (const std::uint32_t r : m.replicas) {
      const std::uint32_t a = smallest(m.replicas.front());
      const std::uint32_t b = smallest(r);
      first[std::max(a, b)] = std::min(a, b);
    }
  }
  std::vector<std::vector<std::uint32_t>> groups;
  std::vector<std::size_t> group_of(replicas);
  for (std::uint32_t r = 0; r < replicas; ++r) {
    const std::uint32_t home = smallest(r);
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
/// Complexity O((instructions + rows * sharers) * log packs)
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

  // Which packs run together: the smallest set that holds each, with union by representative.
  using pack = std::tuple<pass, std::size_t, std::uint32_t>;  // pass, position in the group, pack
  std::map<pack, pack> tied;
  const auto representative = [&](pack p) {
    for (auto up = tied.find(p); up != tied.end() && up->second != p; up = tied.find(p)) p = up->second;
    return p;
  };
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
          const pack first = representative({p, position(0), row[0].value});
          const pack other = representative({p, position(k), row[k].value});
          tied[std::max(first, other)] = std::min(first, other);
          tied.try_emplace(std::min(first, other), std::min(first, other));
        }
      }
    }
  }
  using place = std::tuple<pack, std::uint32_t, std::uint32_t>;  // of a set: its representative, stage, chunk
  std::map<place, std::size_t> set_at;
  std::vector<std::vector<node>> together;
  node n = 0;
  for (std::size_t g = 0; g < group.size(); ++g) {
    for (const task& t : alone[g].tasks()) {
      const pack own{t.what.pass, g, t.what.pack.value};
      if (t.is_instruction() && !t.what.weights_only && tied.contains(own)) {
        const auto [at, added] = set_at.try_emplace({representative(own), t.stage, t.what.chunk}, together.size());
        if (added) together.emplace_back();
        together[at->second].push_back(n);
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

}  // namespace slimpack::simulator

#endif
