#include <slimpack/pricing/workload.hpp>
