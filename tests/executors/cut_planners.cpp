#include "delayed_weights.hpp"
#include "everywhere.hpp"
#include "planned.hpp"

#include <slimpack/core/forest/forest_cut.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/baselines/tree_micro_batches.hpp>
#include <slimpack/solvers/detail/any_policies.hpp>
#include <slimpack/solvers/divide/forest_cuts.hpp>
#include <slimpack/solvers/divide/searched.hpp>
#include <slimpack/solvers/improve/shipped.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/refined.hpp>
#include <slimpack/solvers/solution.hpp>
#include <slimpack/solvers/two_phase/detail/two_phase_search.hpp>

#include <numeric>
#include <vector>

namespace slimpack::tests {
namespace {

/// Packs of the search, of a forest that is cut so and not as the search would.
struct cut_so {
  static constexpr bool plans_prefixes = true;

  /// of: the batch; sizes: tokens of each
  forest_cut (*cut)(const std::vector<sequence>& of, const std::vector<double>& sizes);
  solvers::two_phase search{.effort = solvers::search_budget::fast(), .most_sharers = 1};

  template <class Slicer, class Cost, class Schedule>
  result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost, const Schedule& schedule) const {
    const std::vector<sequence> all = batch.batch().sequences();
    std::vector<double> sizes;
    for (const sequence& s : all) sizes.push_back(static_cast<double>(s.length.value));
    const forest_cut made = cut(all, sizes);
    problem one = batch;
    one.lengths = made.lengths, one.parents = made.parents;
    const detail::cost_behind<Cost> prices(cost);
    const detail::slicer_behind<Slicer, Cost> cuts(slicer, prices);
    const detail::schedule_behind<Schedule> order(schedule);
    result<solution> found = detail::two_phase_search<solvers::improve::shipped>(search, one, cuts, prices, order)
                                 .solve(divide::searched{}, search.effort);
    if (found) found.value().cut = made;
    return found;
  }
  constexpr void share_by(exchange_set) noexcept {}  // it lets none share
};

forest_cut apart(const std::vector<sequence>& of, const std::vector<double>& sizes) {
  return divide::forest_cuts(of, {}, sizes).flat();
}
forest_cut flat(const std::vector<sequence>& of, const std::vector<double>& sizes) {
  return divide::forest_cuts(of, of, sizes).flat();
}
forest_cut by_eighths(const std::vector<sequence>& of, const std::vector<double>& sizes) {
  return divide::forest_cuts(of, of, sizes).by_work(std::accumulate(sizes.begin(), sizes.end(), 0.0) / 8);
}

template <class Solver, class Schedule>
result<plan> cut(const shape& on, const batch_view& batch, Solver solver, Schedule schedule) {
  return planned(on, batch, slicers::equal_cost{}, solver, schedule);
}

}  // namespace

std::vector<forest_planner> cut_planners() {
  using backward_cuts::any;
  using backward_cuts::forward_cuts;
  using schedules::list;
  using schedules::zero_bubble;
  using solvers::refined;
  using solvers::tree_micro_batches;
  using batch = const batch_view&;
  return {
      {"micro-batches", any,
       [](const shape& on, batch all) {
         return cut(on, all, tree_micro_batches{.context = on.quantum * 8}, schedules::one_f_one_b{});
       }},
      {"micro-batches, at forks", any,
       [](const shape& on, batch all) {
         return cut(on, all, tree_micro_batches{.context = on.quantum * 16, .at_forks = true}, list{});
       }},
      {"apart", any, [](const shape& on, batch all) { return cut(on, all, cut_so{apart}, list{}); }},
      {"flat, weights apart", any,
       [](const shape& on, batch all) { return cut(on, all, cut_so{flat}, delayed_weights{}); }},
      {"eighths", any, [](const shape& on, batch all) { return cut(on, all, cut_so{by_eighths}, list{}); }},
      {"refined, eighths", forward_cuts,
       [](const shape& on, batch all) { return cut(on, all, refined<cut_so>{{by_eighths}}, zero_bubble{}); }},
      {"refined, apart", forward_cuts,
       [](const shape& on, batch all) { return cut(on, all, refined<cut_so>{{apart}}, list{}); }},
      {"refined, micro-batches", forward_cuts,
       [](const shape& on, batch all) {
         return cut(on, all, refined<tree_micro_batches>{{.context = on.quantum * 8}}, list{});
       }},
  };
}

}  // namespace slimpack::tests
