#ifndef SLIMPACK_SOLVERS_REFINED_HPP
#define SLIMPACK_SOLVERS_REFINED_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/solvers/detail/parallel.hpp>
#include <slimpack/solvers/detail/put_in_order.hpp>
#include <slimpack/solvers/hooks.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>
#include <slimpack/solvers/two_phase.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <utility>
#include <vector>

namespace slimpack::solvers {

/// Another solver's packs in pieces that both passes share, for trainers whose backward takes whole forward pieces
/// (backward_cuts::forward_cuts): priced by the piece, ordered anew, and listed so in the plan file. Forward and
/// backward packs stay apart. A sequence whose pieces run backward one by one needs accumulators of dK and dV, which are priced.
/// Replicas that share a sequence (DP-Merge) keep the order that the solver found for all of them together. A solver that
/// heeds problem::common_cuts, as two_phase does, has priced their pieces before it ordered them; the packs of another
/// keep their order, too, and what its pieces hold beyond the limit is out_of_memory.
/// The solver's threads are what replicas are cut and ordered on, too.
/// Source    common refinement, pricing/refine.hpp; derived
/// Law       every backward slice is one forward slice
/// Errors    those of the solver
///           out_of_memory: the schedule finds no order for the pieces within the limit
/// Complexity that of the solver, and O(slices log slices) and one schedule a replica
template <class Solver = two_phase>
struct refined {
  Solver solver{};

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    problem alike = batch;
    alike.common_cuts = true;
    result<solution> found = solver.solve(alike, slicer, cost, schedule);
    if (!found) return found;
    std::vector<bool> shares(found.value().replicas.size());
    for (const merge& m : found.value().merges)
      for (const std::uint32_t r : m.replicas)
        if (r < shares.size()) shares[r] = true;  // the planner refuses an answer that names others
    result<std::vector<memory_rates>> rates = rates_of(cost, batch.shape);
    if (!rates) return std::move(rates).error();
    std::vector<replica_solution>& replicas = found.value().replicas;
    result<void> ordered = slimpack::detail::for_each_index(replicas.size(), threads(), [&](std::size_t i) -> result<void> {
      replica_solution& r = replicas[i];
      r.partition = common_refinement(r.partition);
      if (shares[i]) return success();
      return slimpack::detail::put_in_order(r, batch.shape, cost, rates.value(), schedule);
    });
    if (!ordered) return std::move(ordered).error();
    return found;
  }

  [[nodiscard]] constexpr std::size_t threads() const { return threads_of(solver); }
  constexpr void forbid_sharing() { solver = without_sharing(solver); }

  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const refined& s) {
    return out << "solvers::refined{" << s.solver << "}";
  }
};

template <class Solver>
refined(Solver) -> refined<Solver>;

}  // namespace slimpack::solvers

#endif
