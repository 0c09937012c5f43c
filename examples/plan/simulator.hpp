#ifndef SLIMPACK_EXAMPLES_PLAN_SIMULATOR_HPP
#define SLIMPACK_EXAMPLES_PLAN_SIMULATOR_HPP

#include <slimpack/simulators/boost_graph.hpp>

namespace cli {

/// The simulator of the command line's planners, which is the default of planner.hpp. Report, page, trace and graph
/// simulate a plan again by the same one.
using simulator = slimpack::simulators::boost_graph;

}  // namespace cli

#endif
