#include "usage_error.hpp"

#include "nearest.hpp"
#include "terminal.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace cli {
namespace {

/// That a name is no option, and the nearest that there is.
std::string no_option(const CLI::App& app, const std::string& name) {
  std::vector<std::string> known;
  for (const CLI::Option* const option : app.get_options())
    for (const std::string& each : option->get_lnames()) known.push_back("--" + each);
  const std::string meant = nearest(name, known);
  return name + " is no option" + (meant.empty() ? std::string{} : "; did you mean " + meant + "?");
}

/// What is wrong with an argument that is neither an option nor the value of one.
std::string unexpected(const CLI::App& app, const std::string& typed) {
  if (typed.empty() || typed.front() != '-')
    return shown_value(typed) + " belongs to no option; every value follows the name of its option";
  return no_option(app, typed.substr(0, typed.find('=')));
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& e) {
  // A mistyped option is told first: what else is wrong, such as an option that is required, often follows from it.
  if (const std::vector<std::string> rest = app.remaining(); !rest.empty()) return unexpected(app, rest.front());
  const CLI::Option* const config = app.get_config_ptr();
  const std::string file = config->count() > 0 ? "--config " + config->as<std::string>() : "";
  for (const CLI::Option* const option : app.get_options())
    if (option->count() > 1 && option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw)
      return option->get_name() + " has " + std::to_string(option->count()) + " values, and takes one" +
             (file.empty() ? "" : "; in " + file + " one with commas is in quotes");
  const std::string said = e.what();
  const std::string last = said.substr(said.rfind(' ') + 1);
  if (e.get_name() == "ConversionError") return said.substr(said.find("--")) + " is no number that it takes";
  if (e.get_name() == "FileError") return file + " cannot be opened";
  if (e.get_name() != "ConfigError") return said;
  if (said.find("not allowed") != std::string::npos) return file + ": " + said;
  if (last.find('.') != std::string::npos)
    return file + ": has the section " + last.substr(0, last.find('.')) + "; options are in none";
  if (std::any_of(last.begin(), last.end(),
                  [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_'; }))
    return file + ": is no list of options, expected lines such as pp = 8";
  return file + ": " + no_option(app, "--" + last);
}

}  // namespace cli
