#include <slimpack/solvers/baselines/karmarkar_karp.hpp>
