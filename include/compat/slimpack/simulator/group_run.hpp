#include <slimpack/solvers/divide/priced_group.hpp>
namespace slimpack {
namespace simulator = simulators;
}
