#include <slimpack/costs/kernels/time_table.hpp>
