#include <slimpack/costs/network/placement.hpp>
