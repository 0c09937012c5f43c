// Uses the optional component that proves how good plans are.
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/milp.hpp>

#include <vector>

int main() {
  const std::vector<slimpack::tokens> lengths{{512}, {700}};
  const slimpack::solvers::milp<> solver;
  const auto found = solver.certify({lengths, {.stages = 2, .quantum = {512}}}, slimpack::slicers::equal_cost{},
                                    slimpack::costs::quadratic{}, slimpack::schedules::list{});
  return found && found.value().proven ? 0 : 1;
}
