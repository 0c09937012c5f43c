#ifndef SLIMPACK_SOLVERS_TWO_PHASE_HPP
#define SLIMPACK_SOLVERS_TWO_PHASE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/solvers/detail/any_cost.hpp>
#include <slimpack/solvers/detail/any_schedule.hpp>
#include <slimpack/solvers/detail/any_slicer.hpp>
#include <slimpack/solvers/detail/piece_cost.hpp>
#include <slimpack/solvers/divide/detail/division_check.hpp>
#include <slimpack/solvers/divide/divider.hpp>
#include <slimpack/solvers/divide/division.hpp>
#include <slimpack/solvers/divide/division_problem.hpp>
#include <slimpack/solvers/divide/estimated.hpp>
#include <slimpack/solvers/divide/searched.hpp>
#include <slimpack/solvers/divide/unit_planner.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/improve/move.hpp>
#include <slimpack/solvers/improve/shipped.hpp>
#include <slimpack/solvers/pack/partition_rule.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/search_budget.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/search_report.hpp>
#include <slimpack/solvers/size_ratios.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::solvers {

/// The default solver. Phase 1 balances sequences over replicas, and lets several share those that are too heavy or too
/// large for one (DP-Merge) where the simulator says that it pays; phase 2 builds each replica's forward and backward
/// packs independently, searches their sizes, ramps and the order of sequences, and moves single packs' borders and
/// sequences, every candidate ordered by the schedule and scored by the simulator. At last, where the schedule lets it
/// (orders_may_change), it changes that order by swaps, and packs within it.
/// Source    the two phases of SlimPack (arXiv:2509.26246) and its candidates checked by a simulator; the paper's
///           MILP is not public, and the search is derived: size_ratios explains the shapes it searches over
/// Law       never worse than its own first candidate; with two candidates or more, nor than the packs that
///           solvers::megatron makes of what a replica gets, on the same schedule, where the slicer allows them and they
///           are no more than the quickest search could simulate; equal problems give equal solutions
/// Errors    out_of_memory: a sequence does not fit, or no candidate's programs do; the detail has the shortfall
///           invalid_input: a constant of `options` is out of its range
/// Complexity O(effort) for each replica
struct two_phase {
  size_ratios forward{};
  size_ratios backward{.steady = 0.39, .ramp_least = 2.3, .fill = 1.6, .drain = 0.262,
                       .turn_least = 0.68, .before = 0.104, .after = 0.081};
  search_budget effort{search_budget::normal()};
  std::uint32_t most_sharers{65536};  ///< replicas that may share a sequence; 1: none
  exchange_set exchanges{};  ///< by which those that share one may get what they attend to on each other
  std::size_t threads{1};  ///< that plan replicas side by side, 0: one per core; plans do not depend on it
  search_options options{};        ///< what tunes the search, if the defaults do not do
  search_report* report{nullptr};  ///< what the search did is added to it, one batch at a time; plans do not depend on it

  /// For who runs each sequence on one replica (solvers/hooks.hpp).
  constexpr void share_by(exchange_set these) noexcept {
    exchanges = these;
    if (these.empty()) most_sharers = 1;
  }

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    return solve_by<improve::shipped>(divide::searched{}, batch, slicer, cost, schedule);
  }

  /// The same by other moves than the shipped ones (improve/move.hpp), or another divider (divide/divider.hpp);
  /// two_phase_with is the solver that does.
  template <class Moves, class Divider, class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve_by(const Divider& divider, const problem& batch, const Slicer& slicer,
                                          const Cost& cost, const Schedule& schedule) const {
    const detail::cost_behind<Cost> prices(cost);
    const detail::slicer_behind<Slicer, Cost> cuts(slicer, prices);
    const detail::schedule_behind<Schedule> order(schedule);
    if (!batch.common_cuts) return search<Moves>(divider, batch, cuts, prices, order);
    return search<Moves>(divider, batch, cuts, detail::piece_cost(prices, batch.shape, options.piece_quanta), order);
  }

  /// Without `options` where they are the defaults.
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const two_phase& s) {
    out << "solvers::two_phase{.forward = " << s.forward << ", .backward = " << s.backward << ", .effort = " << s.effort
        << ", .most_sharers = " << s.most_sharers;
    if (s.exchanges != exchange_set{}) out << ", .exchanges = " << s.exchanges;
    if (s.options != default_search_options) out << ", .options = " << s.options;
    return out << "}";
  }

 protected:
  /// Compiled once for all slicers, cost models and schedules.
  template <class Moves, class Divider>
  [[nodiscard]] result<solution> search(const Divider& divider, const problem& batch, const detail::any_slicer& slicer,
                                        const detail::any_cost& cost, const detail::any_schedule& schedule) const {
    const result<divide::division_problem> asked = asked_of(batch, cost);
    if (!asked) return asked.error();
    detail::unit_planner<Moves> plan(batch, asked.value(), slicer, cost, schedule, threads);
    result<solution> found = solution{};
    if constexpr (divide::divides_without_plans<Divider>) {
      result<divide::division> units = division_by(divider, batch, asked.value(), cost);
      if (!units) return std::move(units).error();
      found = plan.planned_anew(units.value(), start(batch), effort);
    } else {
      found = divider.solve(asked.value(), plan, start(batch), effort);
    }
    if (report) report->add(plan.report());
    return found;
  }
  [[nodiscard]] result<divide::division_problem> asked_of(const problem& batch, const detail::any_cost& cost) const {
    if (result<void> fine = options.check(); !fine) return std::move(fine).error();
    if (exchanges.empty() && most_sharers > 1)
      return error{errc::invalid_input, "no exchange is allowed between replicas that share a sequence: allow one of "
                                        "keep, queries and ring, or one sharer"};
    result<std::vector<memory_rates>> rates = rates_of(cost, batch.shape);
    if (!rates) return std::move(rates).error();
    return divide::division_problem::of(batch, cost, std::move(rates).value(), most_sharers, exchanges, options);
  }
  template <class Divider>
  [[nodiscard]] static result<divide::division> division_by(const Divider& divider, const problem& batch,
                                                            const divide::division_problem& asked,
                                                            const detail::any_cost& cost) {
    result<divide::division> units = divider.divide(asked, cost);
    if (!units) return units;
    if (result<void> fine = detail::division_check(units.value(), batch.lengths, batch.shape); !fine)
      return std::move(fine).error();
    detail::put_in_order(units.value());
    return units;
  }
  [[nodiscard]] detail::partition_rule start(const problem& batch) const {
    return {{forward, backward}, options.front, options.crowding, options.alignment, batch.shape.quantum};
  }
};

/// two_phase with moves of your own: a class like those in improve/, and one line to register it beside the shipped ones,
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

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    return this->template solve_by<Moves>(divider, batch, slicer, cost, schedule);
  }

  /// The part of `solve`'s answer that is the group of a replica: divides the batch among all, and plans that group alone.
  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<group_solution> solve_group(const problem& batch, const Slicer& slicer, const Cost& cost,
                                                   const Schedule& schedule, std::uint32_t replica) const
    requires divide::divides_without_plans<Divider>
  {
    const detail::cost_behind<Cost> prices(cost);
    const detail::slicer_behind<Slicer, Cost> cuts(slicer, prices);
    const detail::schedule_behind<Schedule> order(schedule);
    if (!batch.common_cuts) return search_group(batch, cuts, prices, order, replica);
    return search_group(batch, cuts, detail::piece_cost(prices, batch.shape, options.piece_quanta), order, replica);
  }

 private:
  [[nodiscard]] result<group_solution> search_group(const problem& batch, const detail::any_slicer& slicer,
                                                    const detail::any_cost& cost, const detail::any_schedule& schedule,
                                                    std::uint32_t replica) const {
    const result<divide::division_problem> asked = asked_of(batch, cost);
    if (!asked) return asked.error();
    const result<divide::division> units = division_by(divider, batch, asked.value(), cost);
    if (!units) return units.error();
    const auto has = [&](const divide::planning_unit& u) {
      return std::binary_search(u.replicas.begin(), u.replicas.end(), replica);
    };
    const auto own = std::find_if(units.value().begin(), units.value().end(), has);
    if (own == units.value().end())
      return error{errc::invalid_input, "there is no replica " + std::to_string(replica) + ", the shape has " +
                                            std::to_string(batch.shape.replicas)};
    detail::unit_planner<Moves> plan(batch, asked.value(), slicer, cost, schedule, threads);
    result<solution> found = plan.planned_anew(*own, start(batch), effort);
    if (report) report->add(plan.report());
    if (!found) return std::move(found).error();
    group_solution made{detail::hash_of(units.value(), batch.lengths, batch.shape), own->replicas, {}, std::move(found).value()};
    for (const std::vector<sequence>* list : {&own->shared, &own->own})
      for (const sequence& s : *list) made.sequences.push_back(s.id);
    return made;
  }
};

/// two_phase that divides by estimates: any rank can plan its own replica's part alone (planner.of_replica), and a batch
/// for many replicas is planned in a small part of the time.
using two_phase_estimated = two_phase_with<improve::shipped, divide::estimated>;

}  // namespace slimpack::solvers

#endif
