#include <slimpack/costs/memory/memory.hpp>
