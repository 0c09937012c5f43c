#include <slimpack/solvers/milp/assignment.hpp>
