#ifndef SLIMPACK_EXAMPLES_PLAN_DAILY_HELP_HPP
#define SLIMPACK_EXAMPLES_PLAN_DAILY_HELP_HPP

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

namespace cli {

/// The help that --help prints: the options of daily use in their groups, and how to see the others. The help of --help-all has
/// every option; it is app.help() as long as this has not been called.
/// daily     long names without dashes, in any order
/// Throws    CLI::OptionNotFound where a name of daily is no option
inline std::string daily_help(CLI::App& app, std::span<const char* const> daily, const std::string& footer) {
  std::size_t others = 0;
  for (const char* const name : daily) app.get_option("--" + std::string(name));
  for (CLI::Option* const option : app.get_options()) {
    if (option == app.get_help_ptr() || option == app.get_help_all_ptr()) continue;
    if (std::find(daily.begin(), daily.end(), option->get_lnames().front()) != daily.end()) continue;
    option->group("");  // a group without a name is in no help
    ++others;
  }
  app.footer("These are the options of daily use; " + app.get_name() + " --help-all shows " + std::to_string(others) + " more.\n\n" + footer);
  return app.help();
}

}  // namespace cli

#endif
