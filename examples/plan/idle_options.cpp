#include "idle_options.hpp"

#include "planners.hpp"
#include "texts.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace cli {
namespace {

bool plans_with(const options& o, const std::string& planner) {
  return o.planner == planner || std::find(o.compare.begin(), o.compare.end(), planner) != o.compare.end();
}

/// Options of planners that not all have.
void check_planners(const CLI::App& app, const options& o) {
  const auto given = [&](const char* name) { return app.get_option(name)->count() > 0; };
  if (given("--search-report") && !plans_with(o, "slimpack"))
    throw bad_usage{"--search-report is of the planner slimpack, which is not asked; leave it out"};
  if (o.weights == slimpack::weight_gradients::apart && !plans_with(o, "slimpack"))
    throw bad_usage{"--weight-gradients apart is for the planner slimpack; " + o.planner + " has them together"};
  if (o.cuts == slimpack::backward_cuts::forward_cuts && !plans_with(o, "slimpack"))
    throw bad_usage{"--backward-cuts forward is for the planner slimpack; " + o.planner + " cuts as it always does: leave it out"};
  if (o.call > slimpack::seconds{} && plans_with(o, "milp"))
    throw bad_usage{"--call-overhead is not in the model of the planner milp: leave it out, or that planner"};
  for (const char* const name : {"--slices", "--lending"})
    if (given(name) && !plans_with(o, "slimpipe"))
      throw bad_usage{std::string(name) + " is for the planner slimpipe, which is not asked: give --planner slimpipe, or leave it out"};
  if (o.zones && !plans_with(o, "slimpack")) throw bad_usage{"--zones is for the planner slimpack; zeppelin has them as it is: leave it out"};
  if (o.relay > 0) {
    std::vector<std::string> planners = o.compare;
    planners.push_back(o.planner);
    if (const slimpack::result<void> used = check_relays(planners); !used) throw bad_usage{used.error().detail};
  }
  // Other planners than these two put each sequence on one replica, by rules of their own.
  const bool divides = plans_with(o, "slimpack") || plans_with(o, "milp");
  for (const char* const name : {"--sharers", "--exchange", "--divide"})
    if (given(name) && !divides && !(name == std::string("--sharers") && o.sharers == 1))
      throw bad_usage{std::string(name) + " is for the planner slimpack; " + o.planner +
                      " puts each sequence on one replica"};
}

/// Options about several replicas.
void check_replicas(const CLI::App& app, const options& o) {
  if (o.automatic && !o.automatic->replicas) return;
  const int replicas = o.layout.shape.replicas;
  if (app.get_option("--sharers")->count() > 0 && o.sharers > static_cast<unsigned>(replicas))
    throw bad_usage{"--sharers " + std::to_string(o.sharers) + " exceeds the replicas, --dp " +
                    std::to_string(replicas) + "; lower it, or leave it out for any number"};
  for (const char* const name : {"--exchange", "--divide", "--rows", "--zones"})
    if (app.get_option(name)->count() > 0 && replicas == 1)
      throw bad_usage{std::string(name) + " is about several replicas: give --dp, or leave it out"};
}

/// What is about steps alone.
void check_forward_only(const CLI::App& app, const options& o) {
  if (o.planner != "slimpack")
    throw bad_usage{"--forward-only is of the planner slimpack; leave out --planner " + o.planner};
  for (const char* const name : {"--compare", "--auto", "--sharers", "--zones", "--exchange", "--rows", "--divide", "--effort", "--weight-gradients", "--backward-cuts",
                                 "--reduction", "--explain", "--search-report"})
    if (app.get_option(name)->count() > 0)
      throw bad_usage{"--forward-only plans one pass by a search of its own, and leaves nothing to choose for " + std::string(name) +
                      ": leave out one of them"};
  if (o.even_stages) throw bad_usage{"--forward-only plans on given layers; leave it out, or give --layers counts"};
  if (o.layout.shape.vocabulary == slimpack::vocabulary::spread)
    throw bad_usage{"--forward-only is for a vocabulary in one place; leave out one of --forward-only and --vocabulary spread"};
}

}  // namespace

void check_idle(const CLI::App& app, const options& o) {
  const auto given = [&](const char* name) { return app.get_option(name)->count() > 0; };
  if (given("--over-long") && !o.max_context)
    throw bad_usage{"--over-long is about sequences longer than --max-context: give that, or leave it out"};
  if (o.summary && o.batches == 1)
    throw bad_usage{"--summary is about several batches: give --batches, or leave it out"};
  for (const char* const name : {"--verbose", "--explain", "--search-report"})
    if (o.summary && given(name)) throw bad_usage{std::string(name) + " is about each batch, which --summary leaves out: leave out one of them"};
  if (given("--force") && !given("--memory"))
    throw bad_usage{"--force lets --memory exceed the GPU's: give that, or leave it out"};
  if (given("--recompute") && o.quadratic)
    throw bad_usage{"--recompute needs --cost transformer or profiled; a quadratic cost knows no activations"};
  check_planners(app, o);
  check_replicas(app, o);
  if (o.forward_only) check_forward_only(app, o);
}

}  // namespace cli
