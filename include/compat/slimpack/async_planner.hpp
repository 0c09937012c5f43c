#include <slimpack/service/async_planner.hpp>
