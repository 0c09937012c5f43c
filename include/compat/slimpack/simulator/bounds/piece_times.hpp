#include <slimpack/simulators/bounds/piece_times.hpp>
namespace slimpack { namespace simulator = simulators; }
