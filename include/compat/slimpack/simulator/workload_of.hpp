#include <slimpack/pricing/workload_of.hpp>
namespace slimpack {
namespace simulator = simulators;
}
