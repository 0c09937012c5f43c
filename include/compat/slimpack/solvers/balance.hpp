#include <slimpack/solvers/divide/balance.hpp>
