#include <slimpack/solvers/baselines/megatron.hpp>
