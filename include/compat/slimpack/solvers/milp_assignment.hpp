#include <slimpack/solvers/milp/answer.hpp>
