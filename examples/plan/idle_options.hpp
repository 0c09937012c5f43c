#ifndef SLIMPACK_EXAMPLES_PLAN_IDLE_OPTIONS_HPP
#define SLIMPACK_EXAMPLES_PLAN_IDLE_OPTIONS_HPP

#include "options.hpp"

#include <CLI/CLI.hpp>

namespace cli {

/// Refuses options that would do nothing beside the others that are given: who typed them expects something.
/// Throws    bad_usage
void check_idle(const CLI::App& app, const options& o);

}  // namespace cli

#endif
