#ifndef SLIMPACK_EXAMPLES_PLAN_MILP_HPP
#define SLIMPACK_EXAMPLES_PLAN_MILP_HPP

#include "planners.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>

#include <span>

namespace cli {

/// Whether the planner "milp" was built in: it needs the component slimpack::milp.
bool has_milp();

/// Plans with solvers::milp, which begins with slimpack's own plan. Requires has_milp()
slimpack::result<slimpack::plan> plan_with_milp(const request& asked, std::span<const slimpack::tokens> lengths,
                                                const any_cost& cost);

}  // namespace cli

#endif
