#ifndef SLIMPACK_EXAMPLES_PLAN_USAGE_ERROR_HPP
#define SLIMPACK_EXAMPLES_PLAN_USAGE_ERROR_HPP

#include <CLI/CLI.hpp>

#include <string>

namespace cli {

/// What to say of a command line, or a file of options, that cannot be read.
std::string usage_error(const CLI::App& app, const CLI::ParseError& e);

}  // namespace cli

#endif
