#ifndef SLIMPACK_EXAMPLES_PLAN_COMPLETION_HPP
#define SLIMPACK_EXAMPLES_PLAN_COMPLETION_HPP

#include <CLI/CLI.hpp>

#include <string>

namespace cli {

/// The shells that there is completion for.
inline constexpr const char* shells[]{"bash", "zsh"};

/// A script that makes one of these shells complete the options of an app, and the values of those that have few.
std::string completion(const CLI::App& app, const std::string& shell);

}  // namespace cli

#endif
