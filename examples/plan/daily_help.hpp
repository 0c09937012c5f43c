#ifndef SLIMPACK_EXAMPLES_PLAN_DAILY_HELP_HPP
#define SLIMPACK_EXAMPLES_PLAN_DAILY_HELP_HPP

#include <CLI/CLI.hpp>

#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cli {

/// Writes of each group of options those that are shown.
class shown_options : public CLI::Formatter {
 public:
  explicit shown_options(std::set<const CLI::Option*> shown) : shown_(std::move(shown)) {}

  std::string make_group(std::string group, bool is_positional, std::vector<const CLI::Option*> all) const override {
    std::erase_if(all, [&](const CLI::Option* option) { return !shown_.contains(option); });
    return all.empty() ? std::string{} : CLI::Formatter::make_group(std::move(group), is_positional, std::move(all));
  }

 private:
  std::set<const CLI::Option*> shown_;
};

/// What --help prints: the options of daily use in their groups, how to see the others, and the footer. What --help-all
/// prints is app.help() before this.
/// daily     long names without dashes, in any order
/// Throws    CLI::OptionNotFound: a name of daily is no option
inline std::string daily_help(CLI::App& app, std::span<const char* const> daily, const std::string& footer) {
  std::set<const CLI::Option*> shown{app.get_help_ptr(), app.get_help_all_ptr()};
  for (const char* const name : daily) shown.insert(app.get_option("--" + std::string(name)));
  const std::size_t others = app.get_options().size() - shown.size();
  app.formatter(std::make_shared<shown_options>(std::move(shown)));
  app.footer("These are the options of daily use; " + app.get_name() + " --help-all shows " + std::to_string(others) +
             " more.\n\n" + footer);
  return app.help();
}

}  // namespace cli

#endif
