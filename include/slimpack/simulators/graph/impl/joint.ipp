#ifndef SLIMPACK_SIMULATORS_GRAPH_IMPL_JOINT_IPP
#define SLIMPACK_SIMULATORS_GRAPH_IMPL_JOINT_IPP

#include <slimpack/core/detail/disjoint_sets.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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
