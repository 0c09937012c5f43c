// The optional component: a plan survives its file.
#include <slimpack/basic_planner.hpp>
#include <slimpack/io/plan_json.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>

#include <sstream>
#include <vector>

int main() {
  using namespace slimpack;
  const std::vector<tokens> lengths{{4096}, {512}, {20000}, {128}};
  const basic_planner plan_batch{shape{.stages = 2}, slicers::equal_cost{}, costs::quadratic{},
                                 solvers::chunked{}, schedules::list{},     simulators::sweep{}};
  const plan made = plan_batch(lengths).value();
  std::stringstream file;
  io::write_plan(file, made).value();
  return io::read_plan(file).value().hash == made.hash ? 0 : 1;
}
