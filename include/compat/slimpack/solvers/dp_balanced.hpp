#include <slimpack/solvers/baselines/dp_balanced.hpp>
