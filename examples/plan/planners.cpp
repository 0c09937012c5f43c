#include "planners.hpp"

#include "milp.hpp"
#include "rivals.hpp"
#include "terminal.hpp"

#include <slimpack/planner.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/solvers/baselines/named.hpp>
#include <slimpack/solvers/forward.hpp>
#include <slimpack/solvers/packed_forward.hpp>
#include <slimpack/solvers/refined.hpp>
#include <slimpack/solvers/two_phase_with.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace cli {
namespace {

using namespace slimpack;

solvers::two_phase solver_of(const request& asked) {
  return {.effort = asked.effort,
          .most_sharers = asked.most_sharers,
          .zone = asked.zones ? asked.zone : solvers::sharing_zones{},
          .exchanges = asked.exchanges,
          .threads = asked.threads,
          .report = asked.report};
}

/// Calls with a solver, or with one around it whose plans cut both passes at the same places.
template <class Solver, class Call>
auto at_cuts(backward_cuts cuts, const Solver& solver, const Call& call) {
  return cuts == backward_cuts::any ? call(solver) : call(solvers::refined<Solver>{solver});
}

/// Calls with the solver that slimpack's own plans have.
template <class Call>
auto with_cuts(const request& asked, const Call& call) {
  if (asked.by_estimates) return at_cuts(asked.cuts, solvers::two_phase_estimated{solver_of(asked)}, call);
  return at_cuts(asked.cuts, solver_of(asked), call);
}

/// The batch that a request is about.
batch_view batch_of(const request& asked, std::span<const tokens> lengths) {
  return asked.samples == nullptr ? batch_view(lengths) : batch_view(*asked.samples);
}

template <class Cost, class Schedule>
result<plan> slimpack_plan(const request& asked, std::span<const tokens> lengths, const Cost& cost,
                           const Schedule& schedule) {
  const batch_view batch = batch_of(asked, lengths);
  if (asked.forward_only)
    return planner{asked.shape, slicers::equal_cost{}, cost, solver_of(asked), schedule}.plan_forward(batch,
                                                                                                      asked.stop);
  return with_cuts(asked, [&](const auto& solver) {
    return planner{asked.shape, slicers::equal_cost{}, cost, solver, schedule}(batch, asked.stop);
  });
}

/// Calls with the schedule that slimpack's own plans have.
template <class Call>
auto with_schedule(const request& asked, const Call& call) {
  if (asked.weights == weight_gradients::apart) return call(schedules::zero_bubble{});
  return call(schedules::list{});
}

/// The baselines whose packs slimpack tries, too: those of lists, or of samples that share beginnings.
std::span<const std::string_view> baselines_beside(const batch_view& batch) {
  static constexpr std::string_view of_forests[]{"tree_micro_batches"};
  return batch.shares_prefixes() ? std::span<const std::string_view>(of_forests) : baselines::sharing_none;
}

/// Slimpack's evaluation: its own packs, or those of a tuned baseline where these are faster.
template <class Cost>
result<plan> forward_plan(const request& asked, std::span<const tokens> lengths, const Cost& cost) {
  result<plan> made = slimpack_plan(asked, lengths, cost, schedules::list{});
  for (const std::string_view name : baselines_beside(batch_of(asked, lengths))) {
    request other = asked;
    other.planner = name;
    result<plan> its = tuned(other, lengths, any_cost(cost)).made;
    if (!its) continue;
    const bool is_faster = !made || its.value().step_time < made.value().step_time;
    const seconds planning = its.value().planning_time + (made ? made.value().planning_time : seconds{});
    if (is_faster) made = std::move(its);
    made.value().planning_time = planning;
  }
  return made;
}

/// Slimpack's plan. Weight gradients apart cost calls of their own, so that a plan with them together may be faster:
/// who can run them apart can run that, too. Not where each rank plans its own part, which is of one schedule.
template <class Cost>
result<plan> fastest_plan(const request& asked, std::span<const tokens> lengths, const Cost& cost) {
  result<plan> made =
      with_schedule(asked, [&](const auto& schedule) { return slimpack_plan(asked, lengths, cost, schedule); });
  if (asked.weights != weight_gradients::apart || asked.forward_only || asked.by_estimates ||
      asked.stop.stop_requested())
    return made;
  result<plan> together = slimpack_plan(asked, lengths, cost, schedules::list{});
  if (!made || !together) return made ? std::move(made) : std::move(together);
  const seconds planning = made.value().planning_time + together.value().planning_time;
  if (together.value().step_time < made.value().step_time) std::swap(made, together);
  made.value().planning_time = planning;
  return made;
}

}  // namespace

const std::vector<std::string>& planner_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all{"slimpack", "flat"};
    all.insert(all.end(), baselines::names.begin(), baselines::names.end());
    if (has_milp()) all.emplace_back("milp");
    return all;
  }();
  return names;
}

slimpack::exchange_set exchanges_named(const std::string& name) {
  for (const exchange e : {exchange::keep, exchange::queries, exchange::ring})
    if (name == name_of(e)) return exchange_set::only(e);
  return exchange_set::all();
}

bool is_baseline(const std::string& planner) {
  return std::find(baselines::names.begin(), baselines::names.end(), planner) != baselines::names.end();
}

bool plans_forests(const std::string& planner) {
  return planner == "slimpack" || planner == "flat" || planner == "tree_micro_batches";
}

/// How long each sample of a forest is.
std::vector<tokens> samples_of(const forest& f) {
  std::vector<tokens> lengths;
  for (const sample_end& s : f.samples) lengths.insert(lengths.end(), s.count, s.at);
  return lengths;
}

bool cuts(const std::string& planner) {
  return baselines::with_named(planner, {}, {}, [](const auto& recipe) { return recipe.cuts; }).value_or(true);
}

std::string why_no_forward(const std::string& planner) {
  if (planner == "milp") return "milp solves models of training steps";
  if (exchange_of(planner))
    return planner + " shares sequences among replicas, and plans of the forward alone share none";
  return {};
}

std::optional<exchange> exchange_of(const std::string& planner) {
  return baselines::with_named(planner, {}, {},
                               [](const auto& recipe) -> std::optional<exchange> {
                                 if constexpr (requires { recipe.solver.exchange; })
                                   return recipe.solver.exchange;
                                 else
                                   return std::nullopt;
                               })
      .value_or(std::nullopt);
}

bool goes_round(const std::string& planner) {
  const std::optional<exchange> by = exchange_of(planner);
  return by && *by != exchange::keep;
}

result<std::uint32_t> segments_named(const std::string& text) {
  const std::string proxies = "proxies";
  if (text == "none") return std::uint32_t{0};
  if (text == proxies) return std::uint32_t{1};
  std::uint32_t segments{};
  if (text.starts_with(proxies + ":")) {
    const char* const end = text.data() + text.size();
    const auto [at, status] = std::from_chars(text.data() + proxies.size() + 1, end, segments);
    if (status == std::errc{} && at == end && segments >= 1 && segments <= most_segments) return segments;
  }
  return error{errc::invalid_input, "--relay " + shown_value(text) +
                                        " is not none, proxies, or proxies:N with N segments from 1 to " +
                                        std::to_string(most_segments)};
}

result<void> check_relays(std::span<const std::string> planners) {
  if (std::any_of(planners.begin(), planners.end(), goes_round)) return success();
  const bool kept = std::find(planners.begin(), planners.end(), "llama_cp") != planners.end();
  return error{
      errc::invalid_input,
      std::string("--relay is for planners whose rows go round the replicas, te_cp, hybrid_dp and zeppelin; ") +
          (kept ? "llama_cp sends over an adapter of each replica already" : "none of them is asked") +
          ": give one of these, or leave it out"};
}

result<plan> plan_named(const request& asked, std::span<const tokens> lengths, const any_cost& any) {
  if (asked.planner == "flat" && asked.samples) {
    request alone = asked;
    alone.planner = "slimpack", alone.samples = nullptr;
    result<plan> made = plan_named(alone, samples_of(*asked.samples), any);
    if (made) made.value().planner = asked.planner;
    return made;
  }
  result<plan> made = std::visit(
      [&](const auto& cost) -> result<plan> {
        if (asked.planner == "slimpack" && !asked.may_cut) return whole_plan(asked, lengths, any);
        if (asked.planner == "milp") return plan_with_milp(asked, lengths, any);
        std::optional<result<plan>> baseline =
            baselines::with_named(asked.planner, asked.shape, asked.context, [&](auto recipe) -> result<plan> {
              if constexpr (requires { recipe.solver.zone; }) recipe.solver.zone = asked.zone;
              if constexpr (requires { recipe.solver.relays; }) {
                if (recipe.solver.exchange != exchange::keep) {
                  if (!asked.relays) return result<plan>(asked.relays.error());
                  recipe.solver.relays = asked.relays.value();
                }
              }
              set_rows(recipe, asked);
              const planner plan_batch{asked.shape, recipe.slicer, cost, recipe.solver, recipe.schedule};
              const batch_view batch = batch_of(asked, lengths);
              if (!asked.forward_only) return plan_batch(batch, asked.stop);
              if constexpr (requires { recipe.solver.packed(problem{}, recipe.slicer, cost); })
                return plan_batch.template plan_forward<solvers::packed_forward>(batch, asked.stop);
              else
                return error{errc::invalid_input, why_no_forward(asked.planner)};
            });
        if (baseline) return *std::move(baseline);
        return asked.forward_only ? forward_plan(asked, lengths, cost) : fastest_plan(asked, lengths, cost);
      },
      any);
  if (made) made.value().planner = asked.planner;
  return made;
}

result<rank_plan> plan_of_replica(const request& asked, std::span<const tokens> lengths, const any_cost& any,
                                  std::uint32_t replica) {
  result<rank_plan> made = std::visit(
      [&](const auto& cost) {
        return with_schedule(asked, [&](const auto& schedule) {
          return at_cuts(asked.cuts, solvers::two_phase_estimated{solver_of(asked)}, [&](const auto& solver) {
            return planner{asked.shape, slicers::equal_cost{}, cost, solver, schedule}.of_replica(
                batch_of(asked, lengths), replica, asked.stop);
          });
        });
      },
      any);
  if (made) made.value().part.planner = asked.planner;
  return made;
}

}  // namespace cli
