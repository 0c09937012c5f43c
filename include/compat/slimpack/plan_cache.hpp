#include <slimpack/service/plan_cache.hpp>
