#ifndef SLIMPACK_CONCEPTS_HPP
#define SLIMPACK_CONCEPTS_HPP

/// What each policy must be. A program that only runs plans includes the second alone.
#include <slimpack/concepts/planning.hpp>
#include <slimpack/concepts/running.hpp>

#endif
