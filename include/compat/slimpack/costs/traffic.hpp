#include <slimpack/costs/network/traffic.hpp>
