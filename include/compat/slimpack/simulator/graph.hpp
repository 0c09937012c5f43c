#include <slimpack/simulators/graph/task_graph.hpp>
namespace slimpack {
namespace simulator = simulators;
}
