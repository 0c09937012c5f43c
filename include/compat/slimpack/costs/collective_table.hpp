#include <slimpack/costs/network/collective_table.hpp>
