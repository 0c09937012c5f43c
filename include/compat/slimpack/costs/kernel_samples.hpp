#include <slimpack/costs/kernels/kernel_samples.hpp>
