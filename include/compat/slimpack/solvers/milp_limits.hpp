#include <slimpack/solvers/milp/limits.hpp>
