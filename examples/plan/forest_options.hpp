#ifndef SLIMPACK_EXAMPLES_PLAN_FOREST_OPTIONS_HPP
#define SLIMPACK_EXAMPLES_PLAN_FOREST_OPTIONS_HPP

#include "options.hpp"

#include <CLI/CLI.hpp>

namespace cli {

/// What --format calls a file whose lines are nodes of a forest.
inline constexpr const char* tree_format = "tree";

/// Refuses what cannot stand beside samples that share beginnings. Throws bad_usage.
void check_forest(const CLI::App& app, const options& o);

}  // namespace cli

#endif
