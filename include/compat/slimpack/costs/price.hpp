#include <slimpack/pricing/price.hpp>
