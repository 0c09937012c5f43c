#ifndef SLIMPACK_EXAMPLES_PLAN_IDLE_OPTIONS_HPP
#define SLIMPACK_EXAMPLES_PLAN_IDLE_OPTIONS_HPP

#include "options.hpp"

#include <slimpack/shapes/layout.hpp>

#include <CLI/CLI.hpp>

#include <span>
#include <string>

namespace cli {

/// Why an option that is given, without dashes, does nothing beside the others, with these planners on this layout;
/// empty where it does something.
std::string why_idle(const std::string& option, const options& o, std::span<const std::string> planners,
                     const slimpack::shapes::layout& on);

/// Why options that are typed would be refused beside this layout; empty where they would not. What the plan file of
/// --from brings is left out where it does nothing, never refused.
std::string refusal(const options& o, const slimpack::shapes::layout& on);

/// Refuses options that would do nothing beside the others that are given: who typed them expects something.
/// Throws    bad_usage
void check_idle(const CLI::App& app, const options& o);

}  // namespace cli

#endif
