#ifndef SLIMPACK_EXAMPLES_PLAN_ORIGIN_HPP
#define SLIMPACK_EXAMPLES_PLAN_ORIGIN_HPP

#include "batches.hpp"
#include "rivals.hpp"
#include "setting.hpp"

#include <slimpack/core/plan.hpp>
#include <slimpack/shapes/layout.hpp>

#include <cstddef>
#include <string>

namespace cli {

/// How a plan was made where a search over layouts did, which tries several ways.
struct way {
  std::string effort;  ///< as --effort takes it
  bool by_estimates{};
};

/// What makes a plan again under a setting: options that give this layout and what a baseline was set to, whoever chose
/// these, and all that files hold.
slimpack::plan_origin origin_of(const setting& s, const std::string& planner, const slimpack::shapes::layout& on,
                                const rival_setting& with = {});
slimpack::plan_origin origin_of(const setting& s, const std::string& planner, const slimpack::shapes::layout& on,
                                const way& made_so);

/// Tells the plan of a batch which rows of the data it is, and which of several batches.
void say_batch(slimpack::plan& made, const batches& all, std::size_t number);

}  // namespace cli

#endif
