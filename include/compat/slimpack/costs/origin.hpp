#include <slimpack/costs/kernels/origin.hpp>
