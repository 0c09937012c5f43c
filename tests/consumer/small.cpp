// A user's program that takes the compiler as little as planning can: policies whose headers it names, nothing
// searched.
#include <slimpack/basic_planner.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>

#include <vector>

int main() {
  using namespace slimpack;
  const std::vector<tokens> lengths{{4096}, {512}, {20000}, {128}};
  const basic_planner plan_batch{shape{.stages = 2}, slicers::equal_cost{}, costs::quadratic{},
                                 solvers::chunked{}, schedules::list{},     simulators::sweep{}};
  return plan_batch(lengths).value().step_time > seconds{0} ? 0 : 1;
}
