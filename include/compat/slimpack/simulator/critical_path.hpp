#include <slimpack/simulators/graph/critical_path.hpp>
namespace slimpack {
namespace simulator = simulators;
}
