#include <slimpack/pricing/refine.hpp>
