#include <slimpack/core/detail/assert.hpp>
