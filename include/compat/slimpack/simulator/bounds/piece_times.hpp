#include <slimpack/simulators/bounds/quantum_times.hpp>
namespace slimpack {
namespace simulator = simulators;
}
namespace slimpack::simulators {
using piece_times = quantum_times;
}
