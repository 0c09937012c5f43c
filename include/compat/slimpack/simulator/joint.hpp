#include <slimpack/simulators/graph/joint.hpp>
namespace slimpack {
namespace simulator = simulators;
}
