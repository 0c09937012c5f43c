#define SLIMPACK_COMPILED_PLANNER
#include "models.hpp"
