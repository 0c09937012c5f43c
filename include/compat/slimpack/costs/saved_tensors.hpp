#include <slimpack/costs/memory/saved_tensors.hpp>
