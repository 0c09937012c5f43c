#include <slimpack/simulators/plan_graphs.hpp>
namespace slimpack {
namespace simulator = simulators;
}
