#include <slimpack/costs/kernels/product_table.hpp>
