#include <slimpack/costs/kernels/attention_table.hpp>
