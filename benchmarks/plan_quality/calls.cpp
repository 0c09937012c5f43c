// Plans for computes that are called piece by piece and cut backward at forward cuts alone (solvers::refined), beside plans
// whose backward may cut anywhere, at the same overhead of a call.

#include "batches.hpp"
#include "parts.hpp"
#include "uniform.hpp"

#include <slimpack/planner.hpp>
#include <slimpack/solvers/refined.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace slimpack::plan_quality {
namespace {

constexpr double least_share = 0.985;  // of the useful work of plans that cut anywhere

/// Calls of forward and backward on a stage.
std::size_t calls_of(const plan& p, pass direction) {
  std::size_t calls = 0;
  for (const replica_plan& r : p.replicas) calls += r.partition.of(direction).slices().size();
  return calls;
}

}  // namespace

void calls(const options& o, scoreboard& board) {
  costs::quadratic cost = uniform_cost;
  cost.per_call = {64e-6};
  const std::uint64_t seed = o.seeds.front();
  std::printf(
      "calls: useful work over rank-time where each piece is a call of its own, 64 us in each pass beside 64 us a pack; backward\n"
      "  cut anywhere, or at forward cuts alone; batches and limits as in bounds, p 8, normal effort; calls on a stage\n"
      "  %-26s %9s %6s %6s %13s %9s %6s %8s %7s\n", "batch", "anywhere", "F", "B", "forward cuts", "F and B", "ratio", "goal", "");
  for (const batch& b : batches(o.data, 512, seed)) {
    if (o.quick && !b.long_tailed) continue;
    shape on{.stages = 8, .memory = times_longest(1.25, b.lengths)};
    on.memory->amount = std::max(on.memory->amount, 65536.0);
    const solvers::two_phase solver{.effort = solvers::search_budget::normal()};
    const result<plan> any = planner{on, slicers::equal_cost{}, cost, solver}(b.lengths);
    const result<plan> alike = planner{on, slicers::equal_cost{}, cost, solvers::refined{solver}}(b.lengths);
    if (!any || !alike) {
      std::printf("  %-26s no plan: %s\n", b.name.c_str(), (any ? alike : any).error().detail.c_str());
      board.judge({"calls: " + b.name, 0, least_share, false});
      continue;
    }
    const double anywhere = useful_share(any.value(), cost), at_cuts = useful_share(alike.value(), cost);
    const char* verdict = b.long_tailed ? board.judge({"calls: " + b.name, at_cuts / anywhere, least_share, false}) : "no goal";
    std::printf("  %-26s %9.5f %6zu %6zu %13.5f %9zu %6.4f %8.3f %7s\n", b.name.c_str(), anywhere, calls_of(any.value(), pass::forward),
                calls_of(any.value(), pass::backward), at_cuts, calls_of(alike.value(), pass::forward), at_cuts / anywhere, least_share,
                verdict);
  }
  std::printf("\n");
}

}  // namespace slimpack::plan_quality
