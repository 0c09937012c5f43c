#include <slimpack/simulators/timeline.hpp>
namespace slimpack {
namespace simulator = simulators;
}
