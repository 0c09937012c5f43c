#include <slimpack/costs/kernels/work.hpp>
