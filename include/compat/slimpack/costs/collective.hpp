#include <slimpack/costs/network/collective.hpp>
