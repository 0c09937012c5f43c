#define SLIMPACK_COMPILED_PLANNER
#include "quadratic.hpp"
