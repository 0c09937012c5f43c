#include <slimpack/solvers/baselines/chunked.hpp>
