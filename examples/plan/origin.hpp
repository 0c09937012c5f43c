#ifndef SLIMPACK_EXAMPLES_PLAN_ORIGIN_HPP
#define SLIMPACK_EXAMPLES_PLAN_ORIGIN_HPP

#include "rivals.hpp"
#include "setting.hpp"

#include <slimpack/core/plan.hpp>
#include <slimpack/shapes/layout.hpp>

#include <string>

namespace cli {

/// How a plan was made where a search over layouts did, which tries several ways.
struct way {
  std::string effort;  ///< as --effort takes it
  bool by_estimates{};
};

/// What makes a plan again under a setting: options that give this layout and what a baseline was set to, whoever chose these,
/// and all that files hold.
slimpack::plan_origin origin_of(const setting& s, const std::string& planner, const slimpack::shapes::layout& on, const rival_setting& with = {});
slimpack::plan_origin origin_of(const setting& s, const std::string& planner, const slimpack::shapes::layout& on, const way& made_so);

}  // namespace cli

#endif
