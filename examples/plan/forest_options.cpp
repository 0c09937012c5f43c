#include "forest_options.hpp"

#include "planners.hpp"
#include "texts.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace cli {
namespace {

/// What is about the sequences of a list, which are taken one by one.
void check_tree(const CLI::App& app) {
  const char* const whole = "a tree is one batch, with all of its samples";
  for (const auto& [name, why] :
       {std::pair{"batch", whole},
        {"token-budget", whole},
        {"batches", whole},
        {"seed", whole},
        {"over-long", "samples of a tree have tokens in common, so that none is cut or left out"},
        {"field", "a tree has no fields, but a column for each number"},
        {"empty", "each node of a tree has tokens"},
        {"share-prefixes", "a tree says already what its samples share"}})
    if (app.get_option(std::string("--") + name)->count() > 0)
      throw bad_usage{std::string("--") + name + " cannot be combined with --format tree: " + why + "; leave it out"};
}

}  // namespace

void check_forest(const CLI::App& app, const options& o) {
  std::vector<std::string> planners{o.planner};
  planners.insert(planners.end(), o.compare.begin(), o.compare.end());
  if (!o.has_forest()) {
    if (std::find(planners.begin(), planners.end(), "flat") != planners.end())
      throw bad_usage{
          "the planner flat is slimpack with each sample alone, for samples that share beginnings: those of a "
          "list share none, leave it out"};
    return;
  }
  const auto given = [&](const char* name) { return app.get_option(name)->count() > 0; };
  if (o.is_tree) check_tree(app);
  if (const auto format = o.how_listed.format; o.shares_prefixes && format != slimpack::io::lengths_format::automatic &&
                                               format != slimpack::io::lengths_format::jsonl)
    throw bad_usage{"--share-prefixes compares token ids, which are read from JSON lines, and not with --format " +
                    std::string(name_of(format)) + ": leave out one of them"};
  const std::string what = "samples that share beginnings";
  if (given("--pad-to"))
    throw bad_usage{"--pad-to pads each sequence at its end, which " + what + " have in the middle: leave it out"};
  if (given("--over-long") && o.over_long == over_long::truncate)
    throw bad_usage{"--over-long truncate would cut off what " + what + " are trained on: give drop, or leave it out"};
  if (!o.trainer.cuts)
    throw bad_usage{"--trainer megatron cuts no sequence, so that " + what + " cannot end at a fork: leave it out"};
  for (const std::string& planner : planners)
    if (!plans_forests(planner))
      throw bad_usage{"the planner " + planner + " plans each sample by itself, not " + what + ": leave it out"};
}

}  // namespace cli
