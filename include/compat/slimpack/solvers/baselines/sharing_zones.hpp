#include <slimpack/solvers/sharing_zones.hpp>
