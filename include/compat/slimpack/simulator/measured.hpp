#include <slimpack/executors/measured.hpp>
namespace slimpack {
namespace simulator = simulators;
}
