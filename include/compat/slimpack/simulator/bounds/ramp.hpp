#include <slimpack/simulators/bounds/ramp.hpp>
namespace slimpack {
namespace simulator = simulators;
}
