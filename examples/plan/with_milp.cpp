#include "milp.hpp"

#include <slimpack/planner.hpp>
#include <slimpack/solvers/milp.hpp>

#include <variant>

namespace cli {

using namespace slimpack;

bool has_milp() { return true; }

result<plan> plan_with_milp(const request& asked, std::span<const tokens> lengths, const any_cost& any) {
  const solvers::milp solver{solvers::two_phase{.effort = asked.effort,
                                                .most_sharers = asked.most_sharers,
                                                .exchanges = asked.exchanges,
                                                .threads = asked.threads}};
  return std::visit(
      [&](const auto& cost) {
        return planner{asked.shape, slicers::equal_cost{}, cost, solver, schedules::list{}}(lengths, asked.stop);
      },
      any);
}

}  // namespace cli
