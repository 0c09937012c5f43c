#include "tuning.hpp"

#include "../../examples/plan/planners.hpp"
#include "../../examples/plan/rivals.hpp"

#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/shape_search.hpp>
#include <slimpack/shapes/even_stages.hpp>
#include <slimpack/shapes/layout.hpp>
#include <slimpack/shapes/with_even_stages.hpp>
#include <slimpack/simulators/bounds/lower_bounds.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <utility>

namespace slimpack::plan_quality {
namespace {

const costs::gpu& h100() {
  static const costs::gpu device = *costs::gpus::named("h100");
  return device;
}

result<costs::transformer> priced(const costs::model_shape& model, const shapes::layout& on) {
  return costs::transformer::sheet(model, h100(), on.shape, {.recompute = on.recompute, .layers = on.layers});
}

/// A planner of the command line, as a shape search asks it: a baseline at its best setting on each layout.
struct named {
  std::string planner;
  seconds& fastest;  ///< of its plans so far: a baseline makes none that is slower, of which the search would think no
                     ///< more

  result<plan> operator()(const shapes::layout& on, const costs::transformer& cost, std::span<const tokens> lengths,
                          const solvers::search_budget& effort) const {
    const cli::request asked{.planner = planner, .shape = on.shape, .effort = effort};
    if (planner == "slimpack") return cli::plan_named(asked, lengths, cost);
    result<plan> made = cli::tuned(asked, lengths, cost, fastest).made;
    if (made) fastest = std::min(fastest, made.value().step_time);
    return made;
  }
  [[nodiscard]] seconds least(const shapes::layout& on, const costs::transformer& cost,
                              std::span<const tokens> lengths) const {
    return cli::cuts(planner) ? seconds{} : uncut_floor(cost, on.shape, lengths);
  }
};

}  // namespace

sequence longest_of(std::span<const tokens> lengths) {
  const auto at = std::max_element(lengths.begin(), lengths.end());
  return {{static_cast<std::uint32_t>(at - lengths.begin())}, *at};
}

seconds uncut_floor(const costs::transformer& cost, const shape& on, std::span<const tokens> lengths) {
  const sequence giant = longest_of(lengths);
  shape whole = on;
  whole.quantum = giant.length;
  return simulators::chain_bound(cost, whole, giant);
}

cluster cluster::of(costs::model_shape model, int gpus) {
  const shapes::space space{.gpus = gpus,
                            .gpus_per_node = h100().gpus_per_node,
                            .layers = model.layers,
                            .heads = model.heads,
                            .experts = model.experts,
                            .memory = memory_limit{memory_unit::byte, h100().memory.value - 0x1p32},
                            .vocabularies = {vocabulary::spread, vocabulary::last}};
  return {std::move(model), gpus, space.layouts()};
}

result<costs::transformer> cluster::cost_on(const shapes::layout& on) const { return priced(model, on); }

std::vector<shapes::layout> cluster::layouts_for(std::span<const tokens> lengths) const {
  const std::vector<std::vector<tokens>> batches{{lengths.begin(), lengths.end()}};
  return shapes::with_even_stages(model, layouts, batches, priced);
}

result<plan> cluster::planned(const shapes::layout& on, std::span<const tokens> lengths) const {
  result<costs::transformer> cost = cost_on(on);
  if (!cost) return std::move(cost).error();
  return cli::plan_named({.planner = "slimpack", .shape = on.shape, .effort = solvers::search_budget::normal()},
                         lengths, std::move(cost).value());
}

std::optional<shapes::candidate> cluster::tuned(const std::string& planner, std::span<const shapes::layout> among,
                                                std::span<const tokens> lengths) const {
  const bool own = planner == "slimpack";
  shape_search search{.effort = solvers::search_budget::normal()};
  if (!own) search.effort = search.first, search.finalists = 1;  // effort means nothing to baselines
  const std::vector<std::vector<tokens>> batches{{lengths.begin(), lengths.end()}};
  const auto cost_of = [&](const shapes::layout& on) { return cost_on(on); };
  seconds fastest{std::numeric_limits<double>::infinity()};
  const result<shapes::ranking> ranked = search(among, batches, cost_of, named{planner, fastest});
  const shapes::candidate* found = ranked.value().best();
  return found ? std::optional(*found) : std::nullopt;
}

std::string cluster::shortfall(tokens length) const {
  double least = std::numeric_limits<double>::infinity();
  shapes::layout where{};
  for (const shapes::layout& on : layouts) {
    const result<costs::transformer> cost = cost_on(on);
    if (!cost) continue;
    double need = 0;
    for (int r = 0; r < on.shape.stages; ++r) {
      const memory_rates rates = *cost.value().memory(r);
      need = std::max(need, rates.fixed + rates.live_token * static_cast<double>(length.value) / on.shape.replicas);
    }
    if (need < least) least = need, where = on;
  }
  const double limit = where.shape.memory->amount;
  char text[160];
  std::snprintf(text, sizeof text,
                "no layout has room: the fullest GPU needs at least %.1f GiB (%s) of %.1f: %.1f GiB are missing",
                least / 0x1p30, text_of(where).c_str(), limit / 0x1p30, (least - limit) / 0x1p30);
  return text;
}

std::string text_of(const shapes::layout& on) {
  const shape& s = on.shape;
  char text[64];
  std::snprintf(text, sizeof text, "%d/%d/%d/%d/%d", s.replicas, s.stages, s.tensor, s.context, s.chunks);
  std::string named = text;
  if (s.expert > 1) named += "/x" + std::to_string(s.expert);
  if (on.shape.vocabulary == vocabulary::spread) named += 'v';
  if (on.recompute != costs::recompute::none) named += " lasf"[static_cast<std::size_t>(on.recompute)];
  if (!on.layers.empty()) named += 'e';
  return named;
}

}  // namespace slimpack::plan_quality
