// Plans for computes that are called piece by piece and cut backward at forward cuts alone (solvers::refined), beside
// plans whose backward may cut anywhere, at the same overhead of a call; and beside those plans cut at the cuts of
// either pass.

#include "batches.hpp"
#include "parts.hpp"
#include "uniform.hpp"

#include <slimpack/planner.hpp>
#include <slimpack/solvers/refined.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace slimpack::plan_quality {
namespace {

constexpr double least_share = 0.985;  // of the useful work of plans that cut anywhere

/// The default solver, not told that both passes are cut alike.
struct untold {
  [[nodiscard]] result<solution> solve(const problem& batch, const auto& slicer, const auto& cost,
                                       const auto& schedule) const {
    return solvers::two_phase{}.solve(problem{batch.lengths, batch.shape, batch.stop}, slicer, cost, schedule);
  }
};

struct figures {
  double useful{};
  std::size_t forward{};  // calls on a stage
  std::size_t backward{};
};

template <class Solver>
figures planned_by(const Solver& solver, const shape& on, const costs::quadratic& cost, const batch& b) {
  const result<plan> made = planner{on, slicers::equal_cost{}, cost, solver}(b.lengths);
  if (!made) {
    std::printf("  %s: no plan: %s\n", b.name.c_str(), made.error().detail.c_str());
    return {};
  }
  const partition& packs = made.value().replicas[0].partition;
  return {useful_share(made.value(), cost), packs.forward.slices().size(), packs.backward.slices().size()};
}

}  // namespace

void calls(const options& o, scoreboard& board) {
  costs::quadratic cost = uniform_cost;
  cost.per_call = {64e-6};
  std::printf(
      "calls: useful work over rank-time where each piece is a call, 64 us in each pass beside 64 us a pack, and calls "
      "on a stage.\n"
      "  anywhere: backward is cut where that is best; afterwards: these packs, cut at the cuts of either pass; alike: "
      "packs that\n"
      "  are sought for common cuts; ratio: of alike to anywhere. Batches and limits as in bounds, p 8, normal effort\n"
      "  %-26s %9s %6s %6s %11s %7s %9s %7s %8s %6s\n",
      "batch", "anywhere", "F", "B", "afterwards", "F, B", "alike", "F, B", "ratio", "goal");
  for (const batch& b : batches(o.data, 512, o.seeds.front())) {
    if (o.quick && !b.long_tailed) continue;
    shape on{.stages = 8, .memory = times_longest(1.25, b.lengths)};
    on.memory->amount = std::max(on.memory->amount, 65536.0);
    const figures any = planned_by(solvers::two_phase{}, on, cost, b);
    const figures afterwards = planned_by(solvers::refined<untold>{}, on, cost, b);
    const figures alike = planned_by(solvers::refined<>{}, on, cost, b);
    const double ratio = any.useful > 0 ? alike.useful / any.useful : 0;
    const char* verdict = board.judge({"calls: " + b.name, ratio, least_share, false});
    std::printf("  %-26s %9.5f %6zu %6zu %11.5f %7zu %9.5f %7zu %8.4f %6.3f %s\n", b.name.c_str(), any.useful,
                any.forward, any.backward, afterwards.useful, afterwards.forward, alike.useful, alike.forward, ratio,
                least_share, verdict);
  }
  std::printf("\n");
}

}  // namespace slimpack::plan_quality
