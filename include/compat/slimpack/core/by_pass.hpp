#include <slimpack/core/detail/by_pass.hpp>
