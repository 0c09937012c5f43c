#include <slimpack/simulators/boost_graph.hpp>
namespace slimpack {
namespace simulator = simulators;
}
