#include <slimpack/solvers/solution.hpp>
