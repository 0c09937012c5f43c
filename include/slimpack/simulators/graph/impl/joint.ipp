#ifndef SLIMPACK_SIMULATORS_GRAPH_IMPL_JOINT_IPP
#define SLIMPACK_SIMULATORS_GRAPH_IMPL_JOINT_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/ensemble/ensembles.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Calls visit(node, cell) for each F and B of several graphs.
template <class Visit>
void each_pass_task(std::span<const simulators::task_graph> alone, const ensembles& of, const Visit& visit) {
  simulators::task_graph::node n = 0;
  for (std::size_t g = 0; g < alone.size(); ++g)
    for (const simulators::task& t : alone[g].tasks()) {
      if (t.is_instruction() && t.what.is_pass()) visit(n, of.cell({g, t.stage, t.what}));
      ++n;
    }
}

SLIMPACK_DECL std::vector<std::vector<simulators::task_graph::node>> tasks_together(
    std::span<const simulators::task_graph> alone, ensembles& of) {
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> set_at(of.size(), none);
  std::vector<std::vector<simulators::task_graph::node>> together;
  each_pass_task(alone, of, [&](simulators::task_graph::node n, std::uint32_t cell) {
    const std::optional<std::uint32_t> ensemble = of.ensemble_of(cell);
    if (!ensemble) return;
    std::uint32_t& set = set_at[*ensemble];
    if (set == none) set = static_cast<std::uint32_t>(together.size()), together.emplace_back();
    together[set].push_back(n);
  });
  return together;
}

SLIMPACK_DECL std::vector<std::pair<simulators::task_graph::node, simulators::task_graph::node>> edges_between_rows(
    std::span<const simulators::task_graph> alone, const ensembles& of, std::span<const std::uint32_t> group,
    std::span<const merge> merges, const shape& on) {
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> apart = rows_apart(of, group, merges);
  std::vector<std::pair<simulators::task_graph::node, simulators::task_graph::node>> edges;
  if (apart.empty()) return edges;
  std::vector<simulators::task_graph::node> at(of.size());
  each_pass_task(alone, of, [&](simulators::task_graph::node n, std::uint32_t cell) { at[cell] = n; });
  for (const auto& [from, to] : apart)
    for (std::uint32_t part = 0; part < static_cast<std::uint32_t>(on.parts()); ++part)
      edges.emplace_back(at[from + part], at[to + part]);
  return edges;
}

}  // namespace slimpack::detail

namespace slimpack::simulators {

SLIMPACK_DECL std::vector<std::vector<std::uint32_t>> joint_groups(std::span<const merge> merges,
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

}  // namespace slimpack::simulators

#endif
