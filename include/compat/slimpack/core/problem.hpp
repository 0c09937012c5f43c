#include <slimpack/solvers/problem.hpp>
