#include <slimpack/simulators/graph/makespan.hpp>
namespace slimpack {
namespace simulator = simulators;
}
