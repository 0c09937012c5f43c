#ifndef SLIMPACK_EXAMPLES_PLAN_ORIGIN_HPP
#define SLIMPACK_EXAMPLES_PLAN_ORIGIN_HPP

#include "setting.hpp"

#include <slimpack/core/plan.hpp>
#include <slimpack/shapes/layout.hpp>

#include <string>

namespace cli {

/// What makes a plan again under a setting: options that give this layout, whoever chose it, and all that files hold.
slimpack::plan_origin origin_of(const setting& s, const std::string& planner, const slimpack::shapes::layout& on);

}  // namespace cli

#endif
