#include <slimpack/solvers/milp/division_model.hpp>
