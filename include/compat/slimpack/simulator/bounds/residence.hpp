#include <slimpack/simulators/bounds/residence.hpp>
namespace slimpack {
namespace simulator = simulators;
}
