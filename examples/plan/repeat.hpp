#ifndef SLIMPACK_EXAMPLES_PLAN_REPEAT_HPP
#define SLIMPACK_EXAMPLES_PLAN_REPEAT_HPP

#include "options.hpp"

#include <slimpack/core/plan.hpp>

#include <CLI/CLI.hpp>

#include <iosfwd>
#include <string>

namespace cli {

/// Whether an option, without dashes, says how a list is read and cut into batches.
bool takes_batches(const std::string& option);

/// Gives `app` the options that a plan file was made with, those that are typed excepted.
/// Throws    bad_usage: the file is no plan, does not say what made it, cannot be repeated, or typed options contradict
///           it
options::repeat repeated(CLI::App& app, const std::filesystem::path& file);

/// The options of `app` that count when planning, with their texts.
slimpack::plan_origin::options given_options(const CLI::App& app);

/// Whether the plan is the one of --from, or options beside it ask for another.
bool is_repeated(const options::repeat& from, const slimpack::plan& made);

/// Says whether the plan is the one of --from, and if not, why.
void print_repeated(std::ostream& out, const options::repeat& from, const slimpack::plan& made);

}  // namespace cli

#endif
