#ifndef SLIMPACK_SOLVERS_ASSEMBLY_IMPL_CUT_IN_PIECES_IPP
#define SLIMPACK_SOLVERS_ASSEMBLY_IMPL_CUT_IN_PIECES_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/solvers/assembly/detail/cut_in_pieces.hpp>
#include <slimpack/solvers/detail/parallel.hpp>

#include <utility>
#include <vector>

namespace slimpack::detail {

SLIMPACK_DECL result<void> cut_in_pieces(solution& found, std::span<const std::uint32_t> replicas, std::size_t threads,
                                         function_ref<result<void>(replica_solution&)> order) {
  std::vector<bool> shares(found.replicas.size());
  for (const merge& m : found.merges)
    for (const std::uint32_t r : m.replicas)
      if (r < shares.size()) shares[r] = true;  // the planner refuses an answer that names others
  return for_each_index(replicas.size(), threads, [&](std::size_t i) -> result<void> {
    replica_solution& r = found.replicas[replicas[i]];
    partition alike = common_refinement(r.partition);
    const bool has_order = shares[replicas[i]] || alike == r.partition;
    r.partition = std::move(alike);
    return has_order ? result<void>(success()) : order(r);
  });
}

}  // namespace slimpack::detail

#endif
