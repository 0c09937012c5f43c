#include <slimpack/simulators/bounds/pieces.hpp>
namespace slimpack { namespace simulator = simulators; }
