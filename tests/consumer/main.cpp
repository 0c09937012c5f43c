// A user's program in two translation units: whatever is defined in a header must be defined once in it.
#include <slimpack/slimpack.hpp>

#include <iostream>
#include <vector>

slimpack::seconds step_time_of(const slimpack::plan& made);

int main() {
  const std::vector<slimpack::tokens> lengths{{4096}, {512}, {20000}, {128}};
  const slimpack::planner plan_batch{{.stages = 2}};
  const slimpack::plan made = plan_batch(lengths).value();
  std::cout << "one step takes " << made.step_time.value << " s\n";
  return made.step_time > slimpack::seconds{0} && made.step_time == step_time_of(made) ? 0 : 1;
}
