#include <slimpack/slimpack.hpp>

#include <vector>

slimpack::seconds step_time_elsewhere(const std::vector<slimpack::tokens>& lengths) {
  return slimpack::planner{{.stages = 2}}(lengths).value().step_time;
}
