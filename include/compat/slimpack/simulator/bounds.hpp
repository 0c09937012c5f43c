#include <slimpack/simulators/bounds/lower_bounds.hpp>
namespace slimpack {
namespace simulator = simulators;
}
