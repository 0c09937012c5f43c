#ifndef SLIMPACK_TESTS_LAWS_EFFORT_HPP
#define SLIMPACK_TESTS_LAWS_EFFORT_HPP

#include <slimpack/solvers/search_options.hpp>

#include "cases.hpp"

namespace slimpack::tests {

/// What a search spends: the budget of users, and a small one where a sanitizer looks.
inline constexpr solvers::search_budget effort =
    under_sanitizer ? solvers::search_budget::fast() : solvers::search_budget::normal();

}  // namespace slimpack::tests

#endif
