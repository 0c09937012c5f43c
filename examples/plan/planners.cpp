#include "planners.hpp"

#include "milp.hpp"

#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/baselines/dp_balanced.hpp>
#include <slimpack/solvers/baselines/karmarkar_karp.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>

namespace cli {
namespace {

using namespace slimpack;

template <class Slicer, class Cost, class Solver, class Schedule>
result<plan> run(const request& asked, std::span<const tokens> lengths, const Cost& cost, Slicer slicer, Solver solver,
                 Schedule schedule) {
  return planner<Slicer, Cost, Solver, Schedule>{asked.shape, slicer, cost, solver, schedule}(lengths, asked.stop);
}

}  // namespace

const std::vector<std::string>& planner_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all{"slimpack", "megatron", "dp_balanced", "karmarkar_karp", "chunked"};
    if (has_milp()) all.emplace_back("milp");
    return all;
  }();
  return names;
}

bool cuts(const std::string& planner) {
  return planner == "slimpack" || planner == "chunked" || planner == "milp";
}

result<plan> plan_named(const request& asked, std::span<const tokens> lengths, const any_cost& any) {
  const bool interleaved = asked.shape.chunks > 1;
  const schedules::one_f_one_b classic{interleaved ? 2 : 1};  // with chunks, a lead of 2 is Megatron-LM's warm-up
  const schedules::one_f_one_b doubled{2};
  result<plan> made = std::visit(
      [&](const auto& cost) -> result<plan> {
        if (asked.planner == "milp") return plan_with_milp(asked, lengths, any);
        if (asked.planner == "megatron")
          return run(asked, lengths, cost, slicers::whole{}, solvers::megatron{asked.context}, classic);
        if (asked.planner == "dp_balanced")
          return run(asked, lengths, cost, slicers::whole{}, solvers::dp_balanced{asked.context}, classic);
        if (asked.planner == "karmarkar_karp")
          return run(asked, lengths, cost, slicers::whole{}, solvers::karmarkar_karp{asked.context}, classic);
        if (asked.planner == "chunked")
          return run(asked, lengths, cost, slicers::equal_cost{}, solvers::chunked{}, doubled);
        const solvers::two_phase solver{
            .effort = asked.effort, .most_sharers = asked.most_sharers, .threads = asked.threads};
        if (asked.weights == weight_gradients::apart)
          return run(asked, lengths, cost, slicers::equal_cost{}, solver, schedules::zero_bubble{});
        if (interleaved) return run(asked, lengths, cost, slicers::equal_cost{}, solver, doubled);
        return run(asked, lengths, cost, slicers::equal_cost{}, solver, schedules::list{});
      },
      any);
  if (made) made.value().planner = asked.planner;
  return made;
}

}  // namespace cli
