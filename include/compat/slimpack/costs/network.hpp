#include <slimpack/costs/network/network.hpp>
