#ifndef SLIMPACK_SOLVERS_TWO_PHASE_HPP
#define SLIMPACK_SOLVERS_TWO_PHASE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/exchange.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/solvers/divide/division_search.hpp>
#include <slimpack/solvers/improve/move.hpp>
#include <slimpack/solvers/improve/shipped.hpp>
#include <slimpack/solvers/pack/partition_rule.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/search_budget.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/search_report.hpp>
#include <slimpack/solvers/size_ratios.hpp>
#include <slimpack/solvers/solution.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
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
  std::size_t threads{0};  ///< that plan replicas side by side, 0: one per core; plans do not depend on it
  search_options options{};        ///< what tunes the search, if the defaults do not do
  search_report* report{nullptr};  ///< what the search did is added to it, one batch at a time; plans do not depend on it

  /// For who runs each sequence on one replica (solvers/hooks.hpp).
  constexpr void forbid_sharing() noexcept { most_sharers = 1; }

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    return solve_by<improve::shipped>(batch, slicer, cost, schedule);
  }

  /// The same by other moves than the shipped ones (improve/move.hpp); two_phase_with is the solver that does.
  template <class Moves, class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve_by(const problem& batch, const Slicer& slicer, const Cost& cost,
                                          const Schedule& schedule) const {
    if (result<void> fine = options.check(); !fine) return std::move(fine).error();
    if (exchanges.empty() && most_sharers > 1)
      return error{errc::invalid_input, "no exchange is allowed between replicas that share a sequence: allow one of "
                                        "keep, queries and ring, or one sharer"};
    result<std::vector<memory_rates>> rates = rates_of(cost, batch.shape);
    if (!rates) return std::move(rates).error();
    const detail::partition_rule start{{forward, backward}, options.front, options.crowding, batch.shape.quantum};
    detail::division_search<Slicer, Cost, Schedule, Moves> search(batch, slicer, cost, schedule, rates.value(), start,
                                                                  most_sharers, exchanges, threads, options);
    result<solution> found = search.best(effort);
    if (report) report->add(search.report());
    return found;
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
};

/// two_phase with moves of your own: a class like those in improve/, and one line to register it beside the shipped ones,
///
///   solvers::two_phase_with<improve::shipped::and_also<my_move>> solver{{.effort = solvers::search_budget::high()}};
///
/// or improve::moves<...> of those that are to be tried. All else is two_phase's.
template <improve::move_list Moves>
struct two_phase_with : two_phase {
  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    return this->template solve_by<Moves>(batch, slicer, cost, schedule);
  }
};

}  // namespace slimpack::solvers

#endif
