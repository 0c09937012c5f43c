#ifndef SLIMPACK_SHAPE_SEARCH_HPP
#define SLIMPACK_SHAPE_SEARCH_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/shapes/detail/contest.hpp>
#include <slimpack/shapes/layout.hpp>
#include <slimpack/shapes/ranking.hpp>
#include <slimpack/shapes/search_progress.hpp>
#include <slimpack/solvers/search_options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

namespace slimpack {

/// Finds the layout on which a planner's steps are shortest, over several batches of one length distribution.
///
///   shapes::space all{.gpus = 64, .layers = 32, .heads = 32, .memory = limit};
///   shapes::ranking found = shape_search{}(all.layouts(), batches, cost_of, plan_of).value();
///
/// Branch and bound. Where there are many layouts, those that promise most of what is bounded so far are probed in
/// between, so that there is a fair plan soon. Each layout has a proven lower bound, the same for every planner
/// (simulators/bounds/lower_bounds.hpp and the reduction of gradients). Layouts are probed, planned with a small part
/// of the first effort, those first that promise most by their bounds and the room that memory leaves for packs; not
/// those whose bound is no less than the time of the last finalist so far, which can be none, nor those that have so
/// little room that they promise far more than it. A layout whose first batches already cost it that place by far is
/// left. Those that fit with very many packs only, which cost more than they gain as a rule and take long to plan, come
/// last, and are few unless nothing else fits. Then the probes that promise most by their times and bounds together are
/// planned with the first effort, and the finalists once more, with the whole.
/// cost_of   result<Cost>(const shapes::layout&), with Cost a cost_model: what to plan with there
/// plan_of   result<plan>(const shapes::layout&, const Cost&, span<const tokens>, search_budget): any planner, so that
///           a baseline is tuned over the same layouts by the same rule. It may offer seconds least(layout, cost,
///           lengths), what its own plans take at least before a reduction, where that is more than any plan's
/// Law       equal inputs give equal rankings, whatever the number of threads, if cost_of and plan_of do so
/// Errors    invalid_input: no batch, or an empty one. A layout that does not fit, or that is refused, is not an error:
///           its candidate says why
/// Complexity a bound for each layout and batch, O(sequences * parts); the plans of those that the bounds leave
struct shape_search {
  /// Of which no more is used than of `first`.
  solvers::search_budget probe{solvers::search_budget::fast().tasks / 4, 10, solvers::search_budget::fast().tasks};
  std::size_t long_probes{8};         ///< layouts that fit with very many packs only that are probed all the same, at
                                      ///< most
  std::uint64_t long_probe_times{2};  ///< how many times as many tasks these may have
  std::size_t probes{12};             ///< that are planned with the first effort, at least
  solvers::search_budget first{solvers::search_budget::fast()};
  solvers::search_budget effort{solvers::search_budget::normal()};
  std::size_t finalists{4};
  bool forward_only{};     ///< plan_of plans the forward alone (basic_planner::plan_forward): bounds and memory are
                           ///< those of evaluations
  std::size_t threads{1};  ///< 0: one per core; plan_of should use one where these are several

  /// A stop token ends the search early with what has been planned, once that is something. `told` hears of each layout
  /// that is done.
  template <class CostOf, class PlanOf>
  requires detail::prices_layouts<CostOf> && detail::plans_layouts<PlanOf, CostOf>
  [[nodiscard]] result<shapes::ranking> operator()(std::span<const shapes::layout> layouts,
                                                   std::span<const std::vector<tokens>> batches, const CostOf& cost_of,
                                                   const PlanOf& plan_of, std::stop_token stop = {},
                                                   const shapes::progress_listener& told = {}) const {
    if (batches.empty()) return error{errc::invalid_input, "a shape search needs at least one batch"};
    for (const std::vector<tokens>& lengths : batches)
      if (lengths.empty()) return error{errc::invalid_input, "the batch is empty: give at least one length"};
    detail::contest run(layouts, batches, cost_of, plan_of, forward_only, threads, stop, told);
    const std::size_t wanted = first == effort ? 1 : finalists;
    const solvers::search_budget look{std::min(probe.tasks, first.tasks), std::min(probe.candidates, first.candidates),
                                      probe.largest};
    if (result<void> r = run.bound(look); !r) return std::move(r).error();
    if (result<void> r = run.probe(look, wanted); !r) return std::move(r).error();
    if (result<void> r =
            run.probe_long({first.tasks, first.candidates, long_probe_times * probe.largest}, wanted, long_probes);
        !r)
      return std::move(r).error();
    if (result<void> r = run.plan_best(first, probes, first == effort); !r) return std::move(r).error();
    if (!(first == effort))
      if (result<void> r = run.plan_finalists(effort, finalists); !r) return std::move(r).error();
    return std::move(run).ranked();
  }
};

}  // namespace slimpack

#endif
