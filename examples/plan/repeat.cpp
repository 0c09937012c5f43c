#include "repeat.hpp"

#include "plan_file.hpp"
#include "texts.hpp"

#include <slimpack/core/plan_hash.hpp>
#include <slimpack/io/plan_json.hpp>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

namespace cli {
namespace {

using namespace slimpack;

/// The same plan comes of all of these.
const std::set<std::string> without_effect{
    "help",    "help-all", "version", "completion", "list-models",   "config", "from",  "compare",  "baseline-layout",
    "threads", "explain",  "verbose", "summary",    "search-report", "json",   "trace", "timeline", "graph"};

std::string long_name(const CLI::Option& option) { return option.get_lnames().front(); }

/// "true" for flags.
std::string given_text(const CLI::Option& option) {
  return option.get_items_expected_max() == 0 ? "true" : option.as<std::string>();
}

std::string typed_text(const std::string& name, const std::string& value) {
  return "--" + name + (value == "true" ? "" : " " + value);
}

/// Whether a plan file may say that it was made with this option.
bool makes_plans(const std::string& option) {
  const bool chooses = option == "auto" || option == "gpus" || option == "time-limit";
  return !chooses && !takes_batches(option) && !without_effect.contains(option);
}

/// What cannot stand beside --from.
void check_contradictions(const CLI::App& app, const std::string& file, const plan_origin::options& planning) {
  for (const char* const name : {"--auto", "--gpus"})
    if (app.get_option(name)->count() > 0)
      throw bad_usage{"--from repeats the plan of " + file + " on its layout, and " + name +
                      " chooses one: leave out one of them"};
  const bool is_quadratic = std::any_of(planning.begin(), planning.end(), [](const auto& one) {
    return one.first == "cost" && one.second.starts_with("quadratic:");
  });
  for (const char* const name : {"--model", "--gpu"})
    if (is_quadratic && app.get_option("--cost")->count() == 0 && app.get_option(name)->count() > 0)
      throw bad_usage{file + " was made with a quadratic cost, which " + name +
                      " does not change: give --cost, too, or leave it out"};
  if (app.get_option("--lengths")->count() > 0) return;
  for (const CLI::Option* const option : app.get_options())
    if (option->count() > 0 && takes_batches(long_name(*option)))
      throw bad_usage{"--" + long_name(*option) + " is about the sequences of --lengths, and " + file +
                      " has its batch: give --lengths, or leave it out"};
}

/// Tables that the plan was made with and that are others now, and the reverse.
std::vector<std::string> changed_inputs(const plan_origin& then, const plan_origin& now) {
  std::vector<std::string> changes;
  const auto same_input = [](const plan_origin::input& a) {
    return [&a](const plan_origin::input& b) { return a.option == b.option && a.name == b.name; };
  };
  for (const plan_origin::input& one : then.inputs) {
    const auto found = std::find_if(now.inputs.begin(), now.inputs.end(), same_input(one));
    if (found == now.inputs.end())
      changes.push_back(one.name + " is gone");
    else if (found->hash != one.hash)
      changes.push_back(one.name + " has changed");
  }
  for (const plan_origin::input& one : now.inputs)
    if (std::none_of(then.inputs.begin(), then.inputs.end(), same_input(one))) changes.push_back(one.name + " is new");
  return changes;
}

std::string listed(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

}  // namespace

const plan_origin::input* options::repeat::input(const std::string& option) const {
  const auto& all = made->origin->inputs;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const plan_origin::input& one) { return one.option == option && one.content; });
  return found == all.end() || replaced.contains(option) ? nullptr : &*found;
}

bool options::repeat::brings(const std::string& option) const {
  const auto& all = made->origin->planning;
  const bool is_there = std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.first == option; });
  return is_there && !replaced.contains(option);
}

bool options::has(const std::string& option) const {
  return std::any_of(given.begin(), given.end(), [&](const auto& one) { return one.first == option; });
}

bool takes_batches(const std::string& option) {
  static const std::set<std::string> names{"lengths", "format", "field",       "empty",     "batch",  "token-budget",
                                           "batches", "seed",   "max-context", "over-long", "pad-to", "share-prefixes"};
  return names.contains(option);
}

plan_origin::options given_options(const CLI::App& app) {
  plan_origin::options all;
  for (const CLI::Option* const option : app.get_options())
    if (option->count() > 0 && !without_effect.contains(long_name(*option)))
      all.emplace_back(long_name(*option), given_text(*option));
  return all;
}

options::repeat repeated(CLI::App& app, const std::filesystem::path& file) {
  const std::string name = file.string();
  result<plan> read = read_plan_file(file);
  if (!read) throw bad_usage{read.error().detail};
  if (read.value().truncated)
    throw bad_usage{
        name + ": a time limit ended its search, so it cannot be repeated: plan the batch again, without --time-limit"};
  if (!read.value().origin)
    throw bad_usage{name +
                    ": does not say what it was made with (\"made_with\"): plan the batch again with this version"};
  check_contradictions(app, name, read.value().origin->planning);
  options::repeat from{file, std::make_shared<const plan>(std::move(read).value()), {}, {}};
  plan_origin::options typed = given_options(app);
  for (const auto& [option, value] : from.made->origin->planning) {
    CLI::Option* const known = app.get_option_no_throw("--" + option);
    if (!known) throw bad_usage{name + ": was made with --" + option + ", which this version does not have"};
    if (!makes_plans(option))
      throw bad_usage{name + ": says that it was made with --" + option +
                      ", which makes no plan: the file was changed"};
    const auto found =
        std::find_if(typed.begin(), typed.end(), [&own = option](const auto& t) { return t.first == own; });
    if (found == typed.end()) {
      try {
        known->add_result(value);
        known->run_callback();
      } catch (const CLI::ParseError& e) {
        throw bad_usage{name + ": " + e.what()};
      }
      continue;
    }
    if (found->second != value) from.changes.push_back(typed_text(option, found->second) + " instead of " + value);
    from.replaced.insert(option);
    typed.erase(found);
  }
  for (const auto& [option, value] : typed) from.changes.push_back(typed_text(option, value));
  return from;
}

bool is_repeated(const options::repeat& from, const plan& made) {
  return !from.changes.empty() || made.hash == from.made->hash;
}

void print_repeated(std::ostream& out, const options::repeat& from, const plan& made) {
  const plan& then = *from.made;
  const std::string file = from.file.filename().string();
  if (!from.changes.empty()) {
    out << "from      " << file << ", but with " << listed(from.changes) << "\n";
  } else if (made.hash == then.hash) {
    out << "from      " << file << ": the same plan, hash " << hash_text(made.hash) << "\n";
  } else {
    std::vector<std::string> why = changed_inputs(*then.origin, *made.origin);
    if (made.origin->version != then.origin->version)
      why.insert(why.begin(), "slimpack was " + then.origin->version + " and is " + made.origin->version);
    out << "from      " << file << ": another plan, hash " << hash_text(made.hash) << " instead of "
        << hash_text(then.hash) << ": "
        << (why.empty() ? "version and inputs are the same, so slimpack-plan was changed or built by another compiler"
                        : listed(why))
        << "\n";
  }
}

}  // namespace cli
