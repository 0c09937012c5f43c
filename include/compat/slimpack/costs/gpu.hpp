#include <slimpack/costs/model/gpu.hpp>
