#include "planners.hpp"

#include "milp.hpp"

#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/solvers/baselines/named.hpp>

#include <optional>
#include <utility>

namespace cli {
namespace {

using namespace slimpack;

template <class Cost, class Schedule>
result<plan> slimpack_plan(const request& asked, std::span<const tokens> lengths, const Cost& cost, const Schedule& schedule) {
  const solvers::two_phase solver{
      .effort = asked.effort, .most_sharers = asked.most_sharers, .threads = asked.threads, .report = asked.report};
  return planner{asked.shape, slicers::equal_cost{}, cost, solver, schedule}(lengths, asked.stop);
}

}  // namespace

const std::vector<std::string>& planner_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all{"slimpack"};
    all.insert(all.end(), baselines::names.begin(), baselines::names.end());
    if (has_milp()) all.emplace_back("milp");
    return all;
  }();
  return names;
}

bool cuts(const std::string& planner) {
  return baselines::with_named(planner, {}, {}, [](const auto& recipe) { return recipe.cuts; }).value_or(true);
}

result<plan> plan_named(const request& asked, std::span<const tokens> lengths, const any_cost& any) {
  result<plan> made = std::visit(
      [&](const auto& cost) -> result<plan> {
        if (asked.planner == "milp") return plan_with_milp(asked, lengths, any);
        std::optional<result<plan>> baseline =
            baselines::with_named(asked.planner, asked.shape, asked.context, [&](const auto& recipe) {
              return planner{asked.shape, recipe.slicer, cost, recipe.solver, recipe.schedule}(lengths, asked.stop);
            });
        if (baseline) return *std::move(baseline);
        if (asked.weights == weight_gradients::apart) return slimpack_plan(asked, lengths, cost, schedules::zero_bubble{});
        if (asked.shape.chunks > 1) return slimpack_plan(asked, lengths, cost, schedules::one_f_one_b{2});
        return slimpack_plan(asked, lengths, cost, schedules::list{});
      },
      any);
  if (made) made.value().planner = asked.planner;
  return made;
}

}  // namespace cli
