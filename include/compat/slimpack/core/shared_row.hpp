#include <slimpack/costs/shared_row.hpp>
