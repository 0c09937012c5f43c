#ifndef SLIMPACK_SOLVERS_TWO_PHASE_WITH_HPP
#define SLIMPACK_SOLVERS_TWO_PHASE_WITH_HPP

#include <slimpack/solvers/two_phase.hpp>

#include <slimpack/core/error.hpp>
#include <slimpack/solvers/detail/any_policies.hpp>
#include <slimpack/solvers/divide/divider.hpp>
#include <slimpack/solvers/divide/estimated.hpp>
#include <slimpack/solvers/divide/searched.hpp>
#include <slimpack/solvers/improve/move.hpp>
#include <slimpack/solvers/improve/shipped.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>
#include <slimpack/solvers/two_phase/detail/forest_search.hpp>

#include <cstdint>

namespace slimpack::solvers {

/// two_phase with moves of your own: a class like those in improve/, and one line to register it beside the shipped
/// ones,
///
///   solvers::two_phase_with<improve::shipped::and_also<my_move>> solver{{.effort = solvers::search_budget::high()}};
///
/// or improve::moves<...> of those that are to be tried; or with another divider (divide/divider.hpp),
///
///   solvers::two_phase_with<improve::shipped, my_divider> solver{{}, my_divider{}};
///
/// All else is two_phase's.
template <improve::move_list Moves, divide::divider Divider = divide::searched>
struct two_phase_with : two_phase {
  Divider divider{};

  /// None where each rank may plan its own part, since only who knows all parts can tell which plan is the fastest.
  [[nodiscard]] constexpr std::size_t efforts() const noexcept {
    return divide::divides_without_plans<Divider> ? 0 : two_phase::efforts();
  }

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    return search(batch, slicer, cost, schedule,
                  [&](const slimpack::detail::forest_search<Moves>& by) { return by.solve(divider); });
  }

  /// The part of `solve`'s answer that is the group of a replica: divides the batch among all, and plans that group
  /// alone.
  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<group_solution> solve_group(
      const problem& batch, const Slicer& slicer, const Cost& cost, const Schedule& schedule,
      std::uint32_t replica) const requires divide::divides_without_plans<Divider> {
    return search(batch, slicer, cost, schedule,
                  [&](const slimpack::detail::forest_search<Moves>& by) { return by.solve_group(divider, replica); });
  }

 private:
  template <class Slicer, class Cost, class Schedule, class Ask>
  [[nodiscard]] auto search(const problem& batch, const Slicer& slicer, const Cost& cost, const Schedule& schedule,
                            const Ask& ask) const {
    const slimpack::detail::cost_behind<Cost> prices(cost);
    const slimpack::detail::slicer_behind<Slicer, Cost> cuts(slicer, prices);
    const slimpack::detail::schedule_behind<Schedule> order(schedule);
    return ask(slimpack::detail::forest_search<Moves>(with_less(batch.less), batch, cuts, prices, order));
  }
};

/// two_phase that divides by estimates: any rank can plan its own replica's part alone (planner.of_replica), and a
/// batch for many replicas is planned in a small part of the time.
using two_phase_estimated = two_phase_with<improve::shipped, divide::estimated>;

}  // namespace slimpack::solvers

#endif
