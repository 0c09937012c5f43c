#include <slimpack/simulators/plan_graphs.hpp>
