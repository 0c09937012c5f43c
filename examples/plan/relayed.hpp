#ifndef SLIMPACK_EXAMPLES_PLAN_RELAYED_HPP
#define SLIMPACK_EXAMPLES_PLAN_RELAYED_HPP

#include "setting.hpp"

#include <slimpack/core/plan.hpp>
#include <slimpack/shapes/layout.hpp>

#include <string>

namespace cli {

/// How many bytes proxies relay between nodes in a step, and how long the longest transfer takes; empty where there are
/// none.
/// Requires  a plan whose rows go round in rings, with a model and a GPU
std::string relayed_text(const setting& s, const slimpack::shapes::layout& on, const slimpack::plan& p);

}  // namespace cli

#endif
