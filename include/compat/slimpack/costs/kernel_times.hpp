#include <slimpack/costs/kernels/kernel_times.hpp>
