#include "rivals.hpp"

#include <slimpack/pricing/price.hpp>
#include <slimpack/solvers/baselines/detail/least_of_packs.hpp>
#include <slimpack/solvers/baselines/named.hpp>
#include <slimpack/solvers/baselines/pack_lengths.hpp>
#include <slimpack/solvers/baselines/tree_micro_batches.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace cli {
namespace {

using namespace slimpack;

/// A setting to try, and what a step takes there at least.
struct candidate {
  rival_setting with;
  seconds least{};
};

/// What the baseline can be set to on the shape of the request, the longest packs last.
/// Errors    those of the cost model, on that shape
result<std::vector<rival_setting>> settings_of(const request& asked, std::span<const tokens> lengths,
                                               const any_cost& any) {
  const auto of_recipe = [&](const auto& recipe) -> result<std::vector<rival_setting>> {
    std::vector<rival_setting> all(1);
    if constexpr (requires { recipe.solver.context; }) {
      all.front().context = asked.context;
      if constexpr (requires { recipe.solver.at_forks; }) {
        std::vector<tokens> sizes{asked.context};
        if (asked.context == tokens{})
          sizes = baselines::micro_batch_lengths(asked.samples ? batch_view(*asked.samples) : batch_view(lengths),
                                                 asked.shape.replicas);
        all.clear();
        for (const tokens size : sizes)
          for (const bool at_forks : {false, true}) all.push_back({size, {}, attention_lending::none, at_forks});
      } else if (asked.context == tokens{}) {
        const auto rates = std::visit(
            [&](const auto& cost) {
              return asked.forward_only ? evaluation_rates_of(cost, asked.shape) : rates_of(cost, asked.shape);
            },
            any);
        if (!rates) return rates.error();
        all.clear();
        for (const tokens pack : baselines::pack_lengths(lengths, asked.shape, rates.value()))
          all.push_back({pack, {}, attention_lending::none});
      }
    }
    if constexpr (requires { recipe.solver.slices; }) {
      std::vector<int> counts{asked.slices};
      if (asked.slices == 0) {
        const auto usual = baselines::slice_counts(asked.shape.stages);
        counts.assign(usual.begin(), usual.end());
      }
      std::vector<attention_lending> ways{asked.lending};
      if (asked.tunes_lending && !asked.forward_only)
        ways.assign(std::begin(all_attention_lending), std::end(all_attention_lending));
      std::vector<rival_setting> each;
      for (const rival_setting& row : all)
        for (const int slices : counts)
          for (const attention_lending lending : ways) each.push_back({row.context, slices, lending});
      all = std::move(each);
    }
    return all;
  };
  return *baselines::with_named(asked.planner, asked.shape, {}, of_recipe);
}

request with_setting(request asked, const rival_setting& with) {
  asked.context = with.context, asked.slices = with.slices, asked.lending = with.lending;
  asked.at_forks = with.at_forks;
  return asked;
}

/// What a step takes at least at the setting of a request. Nothing is known of an evaluation, which takes little to
/// plan.
result<seconds> least_at(const request& asked, std::span<const tokens> lengths, const any_cost& any) {
  if (asked.forward_only) return seconds{};
  return std::visit(
      [&](const auto& cost) -> result<seconds> {
        const result<std::vector<memory_rates>> rates = rates_of(cost, asked.shape);
        if (!rates) return rates.error();
        return *baselines::with_named(asked.planner, asked.shape, asked.context, [&](auto recipe) -> result<seconds> {
          set_rows(recipe, asked);
          return slimpack::detail::least_of_packs(recipe, lengths, asked.shape, cost, rates.value());
        });
      },
      any);
}

}  // namespace

std::string text_of(const rival_setting& with) {
  if (with.context == tokens{}) return {};
  const std::string length = std::to_string(with.context.value);
  if (with.slices == 0) return "packs of " + length + (with.at_forks ? ", trees cut at forks" : "");
  const std::string lends =
      with.lending == attention_lending::none ? "" : std::string(", lending ") + name_of(with.lending);
  return "rows of " + length + " in " + std::to_string(with.slices) + " slices" + lends;
}

tuned_plan tuned(const request& asked, std::span<const tokens> lengths, const any_cost& cost, seconds to_beat) {
  const result<std::vector<rival_setting>> settings = settings_of(asked, lengths, cost);
  if (!settings) return {settings.error()};
  std::vector<candidate> all;
  std::optional<error> why;
  for (const rival_setting& with : settings.value()) {
    const result<seconds> least = least_at(with_setting(asked, with), lengths, cost);
    if (least)
      all.push_back({with, least.value()});
    else if (!why)
      why = least.error();
  }
  std::stable_sort(all.begin(), all.end(), [](const candidate& a, const candidate& b) { return a.least < b.least; });
  tuned_plan best{error{errc::not_faster, "its packs take longer than another plan of it"}};
  bool found = false;
  for (const candidate& one : all) {
    // Sums of the same times in another order differ by rounding.
    if (one.least > to_beat * (1 + 1e-9)) break;
    if (found && asked.stop.stop_requested()) {
      best.to_the_end = false;
      break;
    }
    result<plan> made = plan_named(with_setting(asked, one.with), lengths, cost);
    if (!made) {
      // That memory is short says most: another setting may be refused for a reason of its own.
      if (!why || made.error().code == errc::out_of_memory) why = made.error();
      continue;
    }
    if (found && !(made.value().step_time < best.made.value().step_time)) continue;
    to_beat = std::min(to_beat, made.value().step_time);
    best.made = std::move(made), best.with = one.with, found = true;
  }
  if (!found && why) best.made = *std::move(why);
  return best;
}

tuned_plan smallest(request asked, std::span<const tokens> lengths, const any_cost& cost) {
  const result<std::vector<rival_setting>> settings = settings_of(asked, lengths, cost);
  if (!settings) return {settings.error()};
  asked.shape.memory->amount = std::numeric_limits<double>::infinity();
  tuned_plan best{error{errc::invalid_input, "it can be set to nothing"}};
  for (const rival_setting& with : settings.value()) {
    result<plan> made = plan_named(with_setting(asked, with), lengths, cost);
    if (best.made && (!made || peak_of(made.value()) >= peak_of(best.made.value()))) continue;
    best.made = std::move(made), best.with = with;
  }
  if (best.made) best.made.value().shape.memory.reset();
  return best;
}

result<plan> whole_plan(request asked, std::span<const tokens> lengths, const any_cost& cost) {
  std::optional<result<plan>> best;
  seconds planning{};
  for (const std::string_view name : baselines::sharing_none) {
    asked.planner = name;
    if (cuts(asked.planner)) continue;
    const bool found = best && *best;
    result<plan> made =
        tuned(asked, lengths, cost, found ? best->value().step_time : seconds{std::numeric_limits<double>::infinity()})
            .made;
    if (made) planning += made.value().planning_time;
    if (!found || (made && made.value().step_time < best->value().step_time)) best = std::move(made);
  }
  if (*best) best->value().planning_time = planning;
  return *std::move(best);
}

double peak_of(const plan& p) {
  double peak = 0;
  for (const replica_plan& r : p.replicas)
    for (const double held : r.peak_memory) peak = std::max(peak, held);
  return peak;
}

}  // namespace cli
