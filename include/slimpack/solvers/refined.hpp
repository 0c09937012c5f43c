#ifndef SLIMPACK_SOLVERS_REFINED_HPP
#define SLIMPACK_SOLVERS_REFINED_HPP

#include <slimpack/concepts/planning.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/solvers/detail/parallel.hpp>
#include <slimpack/solvers/detail/put_in_order.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/hooks.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>
#include <slimpack/solvers/two_phase.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::solvers {

/// Packs in pieces that both passes share, for trainers whose backward takes whole forward pieces
/// (backward_cuts::forward_cuts): priced by the piece, and listed so in the plan file. Forward and backward packs stay
/// apart: each is a union of pieces of its own. A sequence whose pieces run backward one by one needs accumulators of
/// dK and dV, which are priced.
/// A solver that heeds problem::common_cuts, as two_phase does, searches for packs whose passes are cut at the same
/// places where that costs little, and so have few pieces, at what the cost model says that each costs (call_overhead,
/// costs/hooks.hpp); their order stays. The packs of another solver are cut at the cuts of either pass and ordered
/// anew. Where its replicas share a sequence (DP-Merge), they keep the order that it found for all of them together,
/// and what its pieces hold beyond the limit is out_of_memory.
/// The solver's threads are what replicas are cut and ordered on, too.
/// Source    common refinement, pricing/refine.hpp, and cuts that are moved to each other, pack/align.hpp; derived
/// Law       every backward slice is one forward slice
/// Errors    those of the solver
///           out_of_memory: the schedule finds no order for the pieces within the limit
/// Complexity that of the solver, and O(slices log slices) and one schedule a replica
template <class Solver = two_phase>
struct refined {
  Solver solver{};

  [[nodiscard]] constexpr bool plans_prefixes() const { return plans_prefixes_of(solver); }
  constexpr void plan_flat() { solver = planning_flat(solver); }

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    problem alike = batch;
    alike.common_cuts = true;
    result<solution> found = solver.solve(alike, slicer, cost, schedule);
    if (!found) return found;
    std::vector<std::uint32_t> all(found.value().replicas.size());
    std::iota(all.begin(), all.end(), 0u);
    return in_pieces(std::move(found).value(), all, batch, cost, schedule);
  }

  /// The part of `solve`'s answer that is the group of a replica, where the solver can plan it alone.
  template <class Slicer, class Cost, class Schedule>
  requires slimpack::detail::solves_groups<Solver, Slicer, Cost, Schedule>
  [[nodiscard]] result<group_solution> solve_group(const problem& batch, const Slicer& slicer, const Cost& cost,
                                                   const Schedule& schedule, std::uint32_t replica) const {
    problem alike = batch;
    alike.common_cuts = true;
    result<group_solution> found = solver.solve_group(alike, slicer, cost, schedule, replica);
    if (!found) return found;
    result<solution> made = in_pieces(std::move(found.value().solved), found.value().replicas, batch, cost, schedule);
    if (!made) return std::move(made).error();
    found.value().solved = std::move(made).value();
    return found;
  }

  [[nodiscard]] constexpr std::size_t threads() const { return threads_of(solver); }
  [[nodiscard]] constexpr std::size_t efforts() const { return efforts_of(solver); }
  constexpr void share_by(exchange_set these) { solver = sharing_by(solver, these); }

  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const refined& s) {
    return out << "solvers::refined{" << s.solver << "}";
  }

 private:
  /// The packs of some replicas as pieces that both passes share: those that change, of a replica that shares nothing,
  /// are ordered anew. Those of a solver that heeds common_cuts are so already.
  template <class Cost, class Schedule>
  [[nodiscard]] result<solution> in_pieces(solution&& found, std::span<const std::uint32_t> replicas,
                                           const problem& batch, const Cost& cost, const Schedule& schedule) const {
    result<std::vector<memory_rates>> rates = rates_of(cost, batch.shape);
    if (!rates) return std::move(rates).error();
    std::vector<bool> shares(found.replicas.size());
    for (const merge& m : found.merges)
      for (const std::uint32_t r : m.replicas)
        if (r < shares.size()) shares[r] = true;  // the planner refuses an answer that names others
    const auto cut = [&](std::size_t i) -> result<void> {
      replica_solution& r = found.replicas[replicas[i]];
      partition alike = common_refinement(r.partition);
      const bool has_order = shares[replicas[i]] || alike == r.partition;
      r.partition = std::move(alike);
      if (has_order) return success();
      return slimpack::detail::put_in_order(r, batch.shape, cost, rates.value(), schedule,
                                            found.cut ? found.cut->parents : batch.parents);
    };
    result<void> ordered = slimpack::detail::for_each_index(replicas.size(), threads(), cut);
    if (!ordered) return std::move(ordered).error();
    found.runners_up.clear();  // whose packs are not cut in pieces
    return std::move(found);
  }
};

template <class Solver>
refined(Solver) -> refined<Solver>;

}  // namespace slimpack::solvers

#endif
