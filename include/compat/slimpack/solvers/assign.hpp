#include <slimpack/solvers/pack/needs.hpp>
