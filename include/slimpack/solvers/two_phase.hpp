#ifndef SLIMPACK_SOLVERS_TWO_PHASE_HPP
#define SLIMPACK_SOLVERS_TWO_PHASE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/solvers/detail/any_policies.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/search_report.hpp>
#include <slimpack/solvers/sharing_zones.hpp>
#include <slimpack/solvers/solution.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>

namespace slimpack::solvers {

/// The default solver. Phase 1 balances sequences over replicas, and lets several share those that are too heavy or too
/// large for one (DP-Merge) where the simulator says that it pays; phase 2 builds each replica's forward and backward
/// packs independently, searches their sizes, ramps and the order of sequences, and moves single packs' borders and
/// sequences, every candidate ordered by the schedule and scored by the simulator. At last, where the schedule lets it
/// (orders_may_change), it changes that order by swaps, and packs within it.
/// Source    the two phases of SlimPack (arXiv:2509.26246) and its candidates checked by a simulator; the paper's
///           MILP is not public, and the search is derived: size_ratios explains the shapes it searches over
/// Law       never worse than its own first candidate; with two candidates or more, nor than the packs that
///           solvers::megatron makes of what a replica gets, on the same schedule, where the slicer allows them and
///           they are no more than the quickest search could simulate; equal problems give equal solutions. The plan
///           that a planner makes of it is no slower than with an effort by name that is less
/// Errors    out_of_memory: a sequence does not fit, or no candidate's programs do; the detail has the shortfall
///           invalid_input: a constant of `options` is out of its range
/// Complexity O(effort) for each replica
struct two_phase {
  search_budget effort{search_budget::normal()};
  std::uint32_t most_sharers{65536};  ///< replicas that may share a sequence; 1: none
  sharing_zones zone{};               ///< lets fewer share one unless memory asks for more; as it is, it limits nothing
  exchange_set exchanges{};           ///< by which those that share one may get what they attend to on each other
  std::size_t threads{1};             ///< that plan replicas side by side, 0: one per core; plans do not depend on it
  search_options options{};           ///< what tunes the search, if the defaults do not do
  search_report* report{nullptr};  ///< what the search did is added to it, one batch at a time; plans do not depend on
                                   ///< it
  bool plans_prefixes{true};       ///< samples may share beginnings (core/forest/forest.hpp)

  /// Efforts from fast on: those by name that are within its own, and its own. None where that is less than fast.
  [[nodiscard]] constexpr std::size_t efforts() const noexcept {
    std::size_t within = 0;
    for (const search_budget& one : search_budget::named()) within += one.is_within(effort);
    return within + (within > 0 && !effort.is_within(search_budget::named()[within - 1]));
  }
  /// The same, but with so many of its efforts less.            Requires  less < efforts(), or 0
  [[nodiscard]] constexpr two_phase with_less(std::size_t less) const noexcept {
    two_phase one = *this;
    if (less == 0) return one;
    one.effort = search_budget::named()[efforts() - 1 - less];
    one.effort.largest = effort.largest;
    return one;
  }

  /// For who runs each sample as a sequence of its own.
  constexpr void plan_flat() noexcept { plans_prefixes = false; }
  /// For who runs each sequence on one replica (solvers/hooks.hpp).
  constexpr void share_by(exchange_set these) noexcept {
    exchanges = these;
    if (these.empty()) most_sharers = 1;
  }

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    const detail::cost_behind<Cost> prices(cost);
    const detail::slicer_behind<Slicer, Cost> cuts(slicer, prices);
    const detail::schedule_behind<Schedule> order(schedule);
    return search(batch, cuts, prices, order);
  }

  /// Without `options` where they are the defaults.
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const two_phase& s) {
    out << "solvers::two_phase{.effort = " << s.effort << ", .most_sharers = " << s.most_sharers;
    if (s.zone != sharing_zones{}) out << ", .zone = " << s.zone;
    if (s.exchanges != exchange_set{}) out << ", .exchanges = " << s.exchanges;
    if (s.options != default_search_options) out << ", .options = " << s.options;
    return out << "}";
  }

 private:
  /// Compiled once for all slicers, cost models and schedules.
  [[nodiscard]] result<solution> search(const problem& batch, const detail::any_slicer& slicer,
                                        const detail::any_cost& cost, const detail::any_schedule& schedule) const;
};

}  // namespace slimpack::solvers

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/solvers/impl/two_phase.ipp>
#endif

#endif
