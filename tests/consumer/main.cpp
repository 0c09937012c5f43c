// A user's program in two translation units: whatever is defined in a header must be defined once in it.
#include <slimpack/slimpack.hpp>

#include <iostream>
#include <vector>

slimpack::seconds step_time_elsewhere(const std::vector<slimpack::tokens>& lengths);

int main() {
  const std::vector<slimpack::tokens> lengths{{4096}, {512}, {20000}, {128}};
  const slimpack::planner plan_batch{{.stages = 2}};
  const slimpack::seconds here = plan_batch(lengths).value().step_time;
  std::cout << "one step takes " << here.value << " s\n";
  return here > slimpack::seconds{0} && here == step_time_elsewhere(lengths) ? 0 : 1;
}
