#include "idle_options.hpp"

#include "planners.hpp"
#include "texts.hpp"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cli {
namespace {

/// An option, and what it stands beside.
struct beside {
  const std::string& option;
  const options& o;
  std::span<const std::string> planners;
  const slimpack::shapes::layout& on;

  [[nodiscard]] bool is(std::initializer_list<const char*> names) const {
    return std::find(names.begin(), names.end(), option) != names.end();
  }
  [[nodiscard]] bool plans_with(const char* planner) const {
    return std::find(planners.begin(), planners.end(), planner) != planners.end();
  }
  /// Whether replicas share sequences as --sharers says, or by rules of a planner's own.
  [[nodiscard]] bool shares_as_asked() const { return plans_with("slimpack") || plans_with("milp"); }
  [[nodiscard]] bool shares_by_itself() const {
    return std::any_of(planners.begin(), planners.end(),
                       [](const std::string& name) { return exchange_of(name).has_value(); });
  }
};

std::vector<std::string> planners_asked(const options& o) {
  std::vector<std::string> all{o.planner};
  all.insert(all.end(), o.compare.begin(), o.compare.end());
  return all;
}

/// How replicas have sequences under a planner that is no solver of slimpack's.
std::string sharing_of(const std::string& planner) {
  return planner +
         (exchange_of(planner) ? " shares sequences by rules of its own" : " puts each sequence on one replica");
}

/// Options that not all planners have.
std::string idle_for_planners(const beside& all) {
  const std::string name = "--" + all.option, &planner = all.planners.front();
  const bool own = all.plans_with("slimpack");
  if (all.is({"baseline"}) && std::none_of(all.planners.begin(), all.planners.end(), is_baseline))
    return name + " is about baselines, and none is planned with: add --compare megatron, or leave it out";
  if (all.is({"weight-gradients"}) && all.o.weights == slimpack::weight_gradients::apart && !own)
    return "--weight-gradients apart is for the planner slimpack; " + planner +
           " computes them together with those of inputs: leave it out";
  if (all.is({"backward-cuts"}) && all.o.cuts == slimpack::backward_cuts::forward_cuts && !own)
    return "--backward-cuts forward is for the planner slimpack; " + planner + " cuts as it always does: leave it out";
  if (all.is({"slices", "lending"}) && !all.plans_with("slimpipe"))
    return name + " is for the planner slimpipe, which is not asked: give --planner slimpipe, or leave it out";
  if (all.is({"zones"}) && !own) return "--zones is for the planner slimpack; zeppelin always has zones: leave it out";
  if (all.is({"relay"}) && all.o.relay > 0)
    if (const slimpack::result<void> used = check_relays(all.planners); !used) return used.error().detail;
  const bool says_none = all.is({"sharers"}) && all.o.sharers == 1;
  if (all.is({"sharers", "exchange", "divide"}) && !all.shares_as_asked() && !says_none)
    return name + " is for the planner slimpack; " + sharing_of(planner) + ": leave it out";
  return {};
}

/// Options about sequences that replicas share, where none do.
std::string idle_without_sharers(const beside& all) {
  const std::string name = "--" + all.option;
  const bool rows = all.is({"rows"});
  if (!rows && !all.is({"exchange", "zones"})) return {};
  if (rows && all.shares_by_itself()) return {};
  if (all.shares_as_asked() && all.o.sharers == 1 && all.o.has("sharers"))
    return "--sharers 1 shares no sequence, so there is nothing for " + name + " to do: leave out one of them";
  if (rows && !all.shares_as_asked())
    return "--rows is about sequences that replicas share; " + sharing_of(all.planners.front()) + ": leave it out";
  return {};
}

/// Options about ranks that the layout does not have.
std::string idle_on_layout(const beside& all) {
  const std::string name = "--" + all.option;
  const slimpack::shape& on = all.on.shape;
  if (all.is({"sharers"}) && all.o.sharers > static_cast<unsigned>(on.replicas))
    return "--sharers " + std::to_string(all.o.sharers) + " exceeds the replicas, --dp " + std::to_string(on.replicas) +
           "; lower it, or leave it out for any number";
  if (all.is({"exchange", "divide", "rows", "zones"}) && on.replicas == 1)
    return name + " is about several replicas: give --dp, or leave it out";
  if (all.is({"reduction"}) && all.o.reduction == slimpack::costs::reduction::exposed && !on.has_copies())
    return "--reduction exposed is about sums of gradients over copies of the weights, and --dp x --cp is 1: give one "
           "of these, or leave it out";
  if (all.option.starts_with("expert-") && on.expert == 1)
    return name + " is about experts that ranks divide: give --ep, or leave it out";
  if (all.is({"layers"}) && all.o.even_stages && on.parts() == 1)
    return "--layers auto is about several parts, and --pp x --vpp is 1: give --pp, or leave it out";
  return {};
}

/// The layout that is given. A degree that --auto chooses may be anything: here it is so large that no option is idle
/// for it.
slimpack::shapes::layout widest(const options& o) {
  slimpack::shapes::layout on = o.layout;
  if (!o.automatic) return on;
  const options::choice& given = *o.automatic;
  using of = slimpack::shape;
  for (const auto& [is_given, degree] : {std::pair{given.replicas, &of::replicas},
                                         {given.stages, &of::stages},
                                         {given.tensor, &of::tensor},
                                         {given.context, &of::context},
                                         {given.expert, &of::expert},
                                         {given.chunks, &of::chunks}})
    if (!is_given) on.shape.*degree = degree == &of::replicas ? 65536 : 2;
  return on;
}

/// What is about training steps alone.
void check_forward_only(const CLI::App& app, const options& o) {
  const auto refuse = [](const std::string& what, const std::string& why) {
    throw bad_usage{"--forward-only cannot be combined with " + what + ": " + why + "; leave out one of them"};
  };
  for (const std::string& planner : planners_asked(o))
    if (const std::string why = why_no_forward(planner); !why.empty()) refuse("the planner " + planner, why);
  const char* const shares = "an evaluation's replicas share no sequence";
  const char* const backward = "nothing runs backward";
  const char* const search = "forward packs have a search of their own, which is always as thorough";
  for (const auto& [name, why] : {std::pair{"sharers", shares},
                                  {"zones", shares},
                                  {"exchange", shares},
                                  {"rows", shares},
                                  {"divide", shares},
                                  {"effort", search},
                                  {"search-report", search},
                                  {"weight-gradients", backward},
                                  {"backward-cuts", backward},
                                  {"reduction", "there are no gradients to reduce"}})
    if (app.get_option(std::string("--") + name)->count() > 0 && !(o.from && o.from->brings(name)))
      refuse(std::string("--") + name, why);
  if (o.layout.recompute != slimpack::costs::recompute::none && o.has_typed("recompute"))
    refuse(std::string("--recompute ") + name_of(o.layout.recompute), backward);
  if (o.lending != slimpack::attention_lending::none)
    refuse(std::string("--lending ") + name_of(o.lending),
           "stages lend each other attention in the lock steps of training steps");
  if (o.layout.shape.vocabulary == slimpack::vocabulary::spread)
    refuse("--vocabulary spread", "its calls run both passes");
}

}  // namespace

std::string why_idle(const std::string& option, const options& o, std::span<const std::string> planners,
                     const slimpack::shapes::layout& on) {
  const beside all{option, o, planners, on};
  for (const auto why : {idle_for_planners, idle_on_layout, idle_without_sharers})
    if (std::string text = why(all); !text.empty()) return text;
  return {};
}

std::string refusal(const options& o, const slimpack::shapes::layout& on) {
  if (std::string wrong = compare_fault(o.planner, o.compare); !wrong.empty()) return wrong;
  const std::vector<std::string> planners = planners_asked(o);
  for (const auto& [option, value] : o.given)
    if (o.has_typed(option))
      if (std::string why = why_idle(option, o, planners, on); !why.empty()) return why;
  return {};
}

void check_idle(const CLI::App& app, const options& o) {
  const auto given = [&](const char* name) { return app.get_option(name)->count() > 0; };
  const std::vector<std::string> planners = planners_asked(o);
  const auto plans_with = [&](const char* planner) {
    return std::find(planners.begin(), planners.end(), planner) != planners.end();
  };
  if (given("--over-long") && !o.max_context)
    throw bad_usage{"--over-long is about sequences longer than --max-context: give that, or leave it out"};
  if (o.summary && o.batches == 1)
    throw bad_usage{"--summary is about several batches: give --batches, or leave it out"};
  for (const char* const name : {"--verbose", "--explain", "--search-report"})
    if (o.summary && given(name))
      throw bad_usage{std::string(name) + " is about each batch, which --summary leaves out: leave out one of them"};
  if (given("--force") && !given("--memory"))
    throw bad_usage{"--force lets --memory exceed the GPU's: give that, or leave it out"};
  if (given("--recompute") && o.quadratic)
    throw bad_usage{"--recompute needs --cost transformer or profiled; a quadratic cost knows no activations"};
  if (given("--search-report") && !plans_with("slimpack"))
    throw bad_usage{"--search-report is of the planner slimpack, which is not asked; leave it out"};
  if (o.call > slimpack::seconds{} && plans_with("milp"))
    throw bad_usage{"--call-overhead is not in the model of the planner milp: leave it out, or that planner"};
  if (std::string why = refusal(o, widest(o)); !why.empty()) throw bad_usage{std::move(why)};
  if (o.forward_only) check_forward_only(app, o);
}

}  // namespace cli
