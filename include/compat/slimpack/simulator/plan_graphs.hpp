#include <slimpack/simulators/graph/plan_graphs.hpp>
namespace slimpack { namespace simulator = simulators; }
