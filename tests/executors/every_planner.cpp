#include "delayed_weights.hpp"
#include "everywhere.hpp"
#include "planned.hpp"
#include "spread_plan.hpp"

#include <slimpack/core/merge.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/baselines/context_parallel.hpp>
#include <slimpack/solvers/baselines/dp_balanced.hpp>
#include <slimpack/solvers/baselines/karmarkar_karp.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/refined.hpp>
#include <slimpack/solvers/two_phase.hpp>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::tests {
namespace {

template <class Schedule>
result<plan> split(const shape& on, std::span<const tokens> lengths, std::uint32_t most_sharers, Schedule schedule,
                   exchange how = exchange::keep) {
  return planned(
      on, lengths, slicers::equal_cost{},
      solvers::two_phase{
          .effort = solvers::search_budget::fast(), .most_sharers = most_sharers, .exchanges = exchange_set::only(how)},
      schedule);
}

template <class Schedule>
result<plan> shared(const shape& on, std::span<const tokens> lengths, exchange how, Schedule schedule) {
  return split(on, lengths, 4, schedule, how);
}

/// On replicas of which none has room for the longest path.
template <class Schedule>
result<plan> tight(shape on, const batch_view& batch, exchange how, Schedule schedule) {
  const double path = static_cast<double>(batch.longest().value + on.quantum.value * 4);
  on.memory = memory_limit{memory_unit::token, std::floor(0.8 * path * on.chunks)};
  return planned(on, batch, slicers::equal_cost{},
                 solvers::two_phase{.effort = solvers::search_budget::fast(), .exchanges = exchange_set::only(how)},
                 schedule);
}

template <class Schedule>
result<plan> spread_by(shape on, const batch_view& batch, Schedule schedule) {
  on.vocabulary = vocabulary::spread;
  return basic_planner{on,
                       slicers::equal_cost{},
                       vocabulary_cost(),
                       solvers::two_phase{.effort = solvers::search_budget::fast(), .most_sharers = 1},
                       schedule,
                       simulators::sweep{}}(batch);
}

}  // namespace

std::vector<named_planner> every_planner() {
  using lengths = std::span<const tokens>;
  using schedules::list;
  using schedules::one_f_one_b;
  return {
      {"two_phase, list",
       [](const shape& on, lengths l) {
         return planned(on, l, slicers::equal_cost{},
                        solvers::two_phase{.effort = solvers::search_budget::fast(), .most_sharers = 1}, list{});
       }},
      {"two_phase, one_f_one_b",
       [](const shape& on, lengths l) {
         return planned(on, l, slicers::equal_cost{},
                        solvers::two_phase{.effort = solvers::search_budget::fast(), .most_sharers = 1}, one_f_one_b{});
       }},
      {"two_phase, uniform, classic",
       [](const shape& on, lengths l) {
         return planned(on, l, slicers::uniform{.at_most = on.quantum * 3},
                        solvers::two_phase{.effort = solvers::search_budget::fast(), .most_sharers = 1},
                        one_f_one_b{.lead = 1});
       }},
      {"megatron",
       [](const shape& on, lengths l) {
         return planned(on, l, slicers::whole{}, solvers::megatron{}, one_f_one_b{.lead = 1});
       }},
      {"dp_balanced",
       [](const shape& on, lengths l) {
         return planned(on, l, slicers::whole{}, solvers::dp_balanced{}, one_f_one_b{.lead = 1});
       }},
      {"karmarkar_karp",
       [](const shape& on, lengths l) { return planned(on, l, slicers::whole{}, solvers::karmarkar_karp{}, list{}); }},
      {"two_phase, first candidate",
       [](const shape& on, lengths l) {
         return planned(on, l, slicers::equal_cost{}, solvers::two_phase{.effort = {0, 1}, .most_sharers = 1}, list{});
       }},
      {"chunked", [](const shape& on,
                     lengths l) { return planned(on, l, slicers::equal_cost{}, solvers::chunked{}, one_f_one_b{}); }},
  };
}

std::vector<named_planner> sharing_planners() {
  using lengths = std::span<const tokens>;
  using schedules::list;
  using schedules::one_f_one_b;
  return {
      {"two_phase that shares", [](const shape& on, lengths l) { return shared(on, l, exchange::keep, list{}); }},
      {"two_phase that shares, one_f_one_b",
       [](const shape& on, lengths l) { return shared(on, l, exchange::keep, one_f_one_b{}); }},
      {"two_phase that shares by queries",
       [](const shape& on, lengths l) { return shared(on, l, exchange::queries, list{}); }},
      {"two_phase that shares in rings",
       [](const shape& on, lengths l) { return shared(on, l, exchange::ring, list{}); }},
      {"rings over proxies, on nodes of two replicas",
       [](const shape& on, lengths l) {
         return planned(on, l, slicers::equal_cost{},
                        solvers::context_parallel{.relays = {.segments = 2, .replicas_per_node = 2}},
                        one_f_one_b{.lead = on.chunks > 1 ? 2 : 1});
       }},
  };
}

std::vector<named_planner> spreading_planners() {
  using lengths = std::span<const tokens>;
  return {
      {"two_phase that spreads the vocabulary",
       [](const shape& on, lengths l) { return spread_by(on, l, schedules::list{}); }},
      {"zero_bubble that spreads the vocabulary",
       [](const shape& on, lengths l) { return spread_by(on, l, schedules::zero_bubble{}); }},
  };
}

std::vector<named_planner> splitting_planners() {
  using lengths = std::span<const tokens>;
  using schedules::zero_bubble;
  using schedules::zero_bubble_order;
  return {
      {"zero_bubble", [](const shape& on, lengths l) { return split(on, l, 1, zero_bubble{}); }},
      {"zero_bubble, h2",
       [](const shape& on, lengths l) { return split(on, l, 1, zero_bubble{.order = zero_bubble_order::h2}); }},
      {"weight gradients late",
       [](const shape& on, lengths l) { return split(on, l, 1, delayed_weights{.delay = 3}); }},
      {"weight gradients of the second half last",
       [](const shape& on, lengths l) { return split(on, l, 1, delayed_weights{.delay = 1000, .whole = 0.5}); }},
  };
}

std::vector<named_planner> splitting_and_sharing_planners() {
  using lengths = std::span<const tokens>;
  using schedules::zero_bubble;
  using schedules::zero_bubble_order;
  return {
      {"zero_bubble that shares", [](const shape& on, lengths l) { return split(on, l, 4, zero_bubble{}); }},
      {"zero_bubble that shares, h1",
       [](const shape& on, lengths l) { return split(on, l, 4, zero_bubble{.order = zero_bubble_order::h1}); }},
      {"zero_bubble that shares by queries",
       [](const shape& on, lengths l) { return split(on, l, 4, zero_bubble{}, exchange::queries); }},
      {"sharing, weight gradients of the second half late",
       [](const shape& on, lengths l) { return split(on, l, 4, delayed_weights{.delay = 2, .whole = 0.5}); }},
  };
}

std::vector<forest_planner> spreading_forest_planners() {
  return {{"spread", backward_cuts::any,
           [](const shape& on, const batch_view& batch) { return spread_by(on, batch, schedules::one_f_one_b{}); }},
          {"spread, weights apart", backward_cuts::any,
           [](const shape& on, const batch_view& batch) { return spread_by(on, batch, schedules::zero_bubble{}); }}};
}

std::vector<forest_planner> sharing_forest_planners() {
  using batch = const batch_view&;
  return {{"keep", backward_cuts::any,
           [](const shape& on, batch all) { return tight(on, all, exchange::keep, schedules::list{}); }},
          {"keep, one_f_one_b", backward_cuts::any,
           [](const shape& on, batch all) { return tight(on, all, exchange::keep, schedules::one_f_one_b{}); }},
          {"queries", backward_cuts::any,
           [](const shape& on, batch all) { return tight(on, all, exchange::queries, schedules::list{}); }},
          {"queries, weights apart", backward_cuts::any,
           [](const shape& on, batch all) { return tight(on, all, exchange::queries, delayed_weights{}); }}};
}

std::vector<forest_planner> forest_planners() {
  static constexpr solvers::two_phase search{.effort = solvers::search_budget::fast(), .most_sharers = 1};
  return {
      {"list", backward_cuts::any,
       [](const shape& on, const batch_view& batch) {
         return planned(on, batch, slicers::equal_cost{}, search, schedules::list{});
       }},
      {"one_f_one_b", backward_cuts::any,
       [](const shape& on, const batch_view& batch) {
         return planned(on, batch, slicers::equal_cost{}, search, schedules::one_f_one_b{});
       }},
      {"weights apart", backward_cuts::any,
       [](const shape& on, const batch_view& batch) {
         return planned(on, batch, slicers::equal_cost{}, search, delayed_weights{});
       }},
      {"refined", backward_cuts::forward_cuts,
       [](const shape& on, const batch_view& batch) {
         return planned(on, batch, slicers::equal_cost{}, solvers::refined<solvers::two_phase>{search},
                        schedules::list{});
       }},
      {"refined, weights apart", backward_cuts::forward_cuts,
       [](const shape& on, const batch_view& batch) {
         return planned(on, batch, slicers::equal_cost{}, solvers::refined<solvers::two_phase>{search},
                        schedules::zero_bubble{});
       }},
  };
}

}  // namespace slimpack::tests
