#include <slimpack/costs/kernels/token_table.hpp>
