#ifndef SLIMPACK_SOLVERS_REFINED_HPP
#define SLIMPACK_SOLVERS_REFINED_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>
#include <slimpack/solvers/two_phase.hpp>

#include <iosfwd>
#include <utility>
#include <vector>

namespace slimpack::solvers {

/// Another solver's packs in pieces that both passes share, for trainers whose backward takes whole forward pieces
/// (backward_cuts::forward_cuts): priced by the piece, ordered anew, and listed so in the plan file. Forward and
/// backward packs stay apart. A sequence whose pieces run backward one by one needs accumulators of dK and dV, which are priced.
/// Replicas share no sequence (DP-Merge), since each is cut and ordered anew on its own.
/// Source    common refinement, pricing/refine.hpp; derived
/// Law       every backward slice is one forward slice
/// Errors    those of the solver; out_of_memory: the schedule finds no order for the pieces within the limit
/// Complexity that of the solver, and O(slices log slices) and one schedule a replica
template <class Solver = two_phase>
struct refined {
  Solver solver{};

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    Solver apart = solver;
    if constexpr (requires { apart.most_sharers = 1u; }) apart.most_sharers = 1;
    result<solution> found = apart.solve(batch, slicer, cost, schedule);
    if (!found) return found;
    result<std::vector<memory_rates>> rates = rates_of(cost, batch.shape);
    if (!rates) return std::move(rates).error();
    for (replica_solution& r : found.value().replicas) {
      r.partition = common_refinement(r.partition);
      result<std::vector<program>> programs = schedule.programs(
          price(r.partition, cost, batch.shape, rates.value(), weight_gradients_of<Schedule>));
      if (!programs) return std::move(programs).error();
      r.programs = std::move(programs).value();
    }
    return found;
  }

  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const refined& s) {
    return out << "solvers::refined{" << s.solver << "}";
  }
};

template <class Solver>
refined(Solver) -> refined<Solver>;

}  // namespace slimpack::solvers

#endif
