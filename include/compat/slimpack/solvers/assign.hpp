#include <slimpack/solvers/pack/sequence_costs.hpp>
