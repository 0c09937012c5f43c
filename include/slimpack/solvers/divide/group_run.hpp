#ifndef SLIMPACK_SOLVERS_DIVIDE_GROUP_RUN_HPP
#define SLIMPACK_SOLVERS_DIVIDE_GROUP_RUN_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/shared_row.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/graph/makespan.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::simulators {

/// The rows that a replica takes part in, merge by merge.
/// packs_of(replica): its partition
/// Requires  merges that name replicas and packs there are, and outlive the answer
/// Errors    none            Complexity  O(rows * sharers * slices of a pack)
template <class PacksOf>
[[nodiscard]] std::vector<shared_row> shared_rows(std::span<const merge> merges, const PacksOf& packs_of,
                                                  std::uint32_t replica) {
  std::vector<shared_row> rows;
  for (const merge& m : merges) {
    const auto own = std::find(m.replicas.begin(), m.replicas.end(), replica);
    if (own == m.replicas.end()) continue;
    const auto place = static_cast<std::size_t>(own - m.replicas.begin());
    for (const pass p : {pass::forward, pass::backward}) {
      for (const std::vector<pack_id>& row : m.of(p)) {
        tokens end{};
        for (std::size_t k = 0; k < row.size(); ++k)
          for (const slice& s : packs_of(m.replicas[k]).of(p)[row[k].value])
            if (s.sequence == m.sequence) end = std::max(end, s.end());
        rows.push_back({m.sequence, p, row[place], end, m.replicas});
      }
    }
  }
  return rows;
}

/// Replicas that run together, priced and simulated.
struct group_run {
  std::vector<workload> works;  ///< one per replica of the group
  std::vector<seconds> ends;    ///< of each replica, from a common start

  [[nodiscard]] seconds end() const noexcept { return ends.empty() ? seconds{} : *std::max_element(ends.begin(), ends.end()); }
};

/// Prices and runs the replicas of a solution that `group` names (joint_groups).
/// Shapes    rates: one per stage, from rates_of            Errors    those of joint_graph
/// Complexity O(slices * parts), and that of joint_graph
template <class Cost>
[[nodiscard]] result<group_run> run_group(std::span<const std::uint32_t> group, const solution& solved,
                                          const Cost& cost, const shape& on, const std::vector<memory_rates>& rates,
                                          weight_gradients weights) {
  group_run run;
  const auto packs_of = [&](std::uint32_t r) -> const partition& { return solved.replicas[r].partition; };
  for (const std::uint32_t r : group)
    run.works.push_back(settled(price(solved.replicas[r].partition, cost, on, rates, weights,
                                      shared_rows(solved.merges, packs_of, r)),
                                solved.replicas[r].programs));
  if (group.size() == 1) {
    const result<seconds> end = makespan(run.works.front(), solved.replicas[group.front()].programs);
    if (!end) return end.error();
    run.ends.push_back(end.value());
    return run;
  }
  const auto position = [&](std::uint32_t r) {
    return static_cast<std::size_t>(std::lower_bound(group.begin(), group.end(), r) - group.begin());
  };
  const result<task_graph> graph = joint_graph(
      group, [&](std::uint32_t r) -> const workload& { return run.works[position(r)]; },
      [&](std::uint32_t r) -> std::span<const program> { return solved.replicas[r].programs; }, solved.merges);
  if (!graph) return graph.error();
  std::vector<seconds> start;
  graph.value().sweep(start);
  run.ends = ends_of(graph.value(), start, group.size());
  return run;
}

}  // namespace slimpack::simulators

#endif
