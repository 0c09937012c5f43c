#include <slimpack/simulators/bounds/batch_quanta.hpp>
namespace slimpack {
namespace simulator = simulators;
}
namespace slimpack::simulators {
using pieces = batch_quanta;
using piece_group = quantum_group;
}  // namespace slimpack::simulators
