#include <slimpack/simulators/memory.hpp>
namespace slimpack {
namespace simulator = simulators;
}
