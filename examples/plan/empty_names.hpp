#ifndef SLIMPACK_EXAMPLES_PLAN_EMPTY_NAMES_HPP
#define SLIMPACK_EXAMPLES_PLAN_EMPTY_NAMES_HPP

#include "texts.hpp"

#include <CLI/CLI.hpp>

#include <initializer_list>
#include <string>

namespace cli {

/// Refuses options that are given, and name no file.
/// Throws    bad_usage
inline void check_named(const CLI::App& app, std::initializer_list<const char*> options) {
  for (const char* const name : options)
    if (const CLI::Option* const option = app.get_option(name); option->count() > 0 && option->results().back().empty())
      throw bad_usage{std::string(name) + " is empty: give a file"};
}

}  // namespace cli

#endif
