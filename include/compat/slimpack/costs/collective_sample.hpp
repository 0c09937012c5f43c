#include <slimpack/costs/network/collective_sample.hpp>
