#ifndef SLIMPACK_SOLVERS_REFINED_HPP
#define SLIMPACK_SOLVERS_REFINED_HPP

#include <slimpack/concepts.hpp>
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
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::solvers {

/// Another solver's packs in pieces that both passes share, for trainers whose backward takes whole forward pieces
/// (backward_cuts::forward_cuts): priced by the piece, ordered anew, and listed so in the plan file. Forward and
/// backward packs stay apart. A sequence whose pieces run backward one by one needs accumulators of dK and dV, which are priced.
/// Replicas share no sequence (DP-Merge), since each is cut and ordered anew on its own: the solver is told
/// forbid_sharing (solvers/hooks.hpp). Its threads are what replicas are cut and ordered on, too.
/// Source    common refinement, pricing/refine.hpp; derived
/// Law       every backward slice is one forward slice
/// Errors    those of the solver; invalid_input: it shares a sequence all the same
///           out_of_memory: the schedule finds no order for the pieces within the limit
/// Complexity that of the solver, and O(slices log slices) and one schedule a replica
template <class Solver = two_phase>
struct refined {
  Solver solver{};

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    result<solution> found = without_sharing(solver).solve(batch, slicer, cost, schedule);
    if (!found) return found;
    std::vector<std::uint32_t> all(found.value().replicas.size());
    std::iota(all.begin(), all.end(), 0u);
    return in_pieces(std::move(found).value(), all, batch, cost, schedule);
  }

  /// The part of `solve`'s answer that is the group of a replica, where the solver can plan it alone: each is one replica.
  template <class Slicer, class Cost, class Schedule>
    requires slimpack::detail::solves_groups<Solver, Slicer, Cost, Schedule>
  [[nodiscard]] result<group_solution> solve_group(const problem& batch, const Slicer& slicer, const Cost& cost,
                                                   const Schedule& schedule, std::uint32_t replica) const {
    result<group_solution> found = without_sharing(solver).solve_group(batch, slicer, cost, schedule, replica);
    if (!found) return found;
    result<solution> made = in_pieces(std::move(found.value().solved), found.value().replicas, batch, cost, schedule);
    if (!made) return std::move(made).error();
    found.value().solved = std::move(made).value();
    return found;
  }

  [[nodiscard]] constexpr std::size_t threads() const { return threads_of(solver); }
  constexpr void forbid_sharing() { solver = without_sharing(solver); }

  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const refined& s) {
    return out << "solvers::refined{" << s.solver << "}";
  }

 private:
  /// The packs of some replicas as pieces that both passes share, in order.
  template <class Cost, class Schedule>
  [[nodiscard]] result<solution> in_pieces(solution&& found, std::span<const std::uint32_t> replicas, const problem& batch,
                                           const Cost& cost, const Schedule& schedule) const {
    if (!found.merges.empty())
      return error{errc::invalid_input, "refined runs each sequence on one replica, and its solver lets several share sequence " +
                                            std::to_string(found.merges.front().sequence.value) +
                                            ": give the solver a member forbid_sharing() (solvers/hooks.hpp)"};
    result<std::vector<memory_rates>> rates = rates_of(cost, batch.shape);
    if (!rates) return std::move(rates).error();
    result<void> ordered = slimpack::detail::for_each_index(replicas.size(), threads(), [&](std::size_t i) -> result<void> {
      replica_solution& r = found.replicas[replicas[i]];
      r.partition = common_refinement(r.partition);
      return slimpack::detail::put_in_order(r, batch.shape, cost, rates.value(), schedule);
    });
    if (!ordered) return std::move(ordered).error();
    return std::move(found);
  }
};

template <class Solver>
refined(Solver) -> refined<Solver>;

}  // namespace slimpack::solvers

#endif
