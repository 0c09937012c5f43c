#include "choice.hpp"

#include "origin.hpp"
#include "padding.hpp"
#include "prices.hpp"
#include "rivals.hpp"
#include "texts.hpp"

#include <slimpack/core/detail/amount.hpp>
#include <slimpack/costs/model/training_flops.hpp>
#include <slimpack/shapes/even_stages.hpp>
#include <slimpack/shapes/layout.hpp>
#include <slimpack/shapes/unequal_words.hpp>
#include <slimpack/shapes/with_even_stages.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <ostream>
#include <utility>

namespace cli {
namespace {

using namespace slimpack;
using shapes::candidate;
using shapes::layout;
using shapes::outcome;
using shapes::ranking;

/// Whether a sequence is so large a part of what a replica runs that there are many divisions to try: a first look
/// would do little else, and a short one of those that are estimated finds steps as short or shorter.
bool shares_much(std::span<const tokens> lengths, const shape& on) {
  const tokens all = std::accumulate(lengths.begin(), lengths.end(), tokens{});
  return on.replicas > 1 && 3 * on.replicas * std::max_element(lengths.begin(), lengths.end())->value > all.value;
}

/// A planner by name, as shape searches take it.
struct named {
  const setting& s;
  const std::string& planner;
  std::stop_token stop;
  /// Of one batch: the least step of a baseline so far, which makes no plan that is slower. It changes no winner,
  /// whichever thread comes first: what is left out is slower than a plan that is there.
  std::atomic<double>* fastest;
  std::span<const std::vector<tokens>> batches{};  ///< that are asked for
  std::span<const forest> forests{};               ///< one per batch, or none

  template <class Cost>
  result<plan> operator()(const layout& on, const Cost& cost, std::span<const tokens> lengths,
                          solvers::search_budget effort) const {
    request asked = request_of(s, planner, on);
    asked.effort = effort, asked.stop = stop, asked.threads = 1;  // layouts are planned side by side
    for (std::size_t b = 0; b < forests.size(); ++b)
      if (batches[b].data() == lengths.data()) asked.samples = &forests[b];
    if (is_baseline(planner)) return tuned_on(asked, any_cost(cost), lengths);
    const bool divides = planner == "slimpack" && !asked.forward_only;
    const bool estimates =
        divides && effort.largest != solvers::search_budget::no_limit && shares_much(lengths, on.shape);
    if (estimates) {
      const auto fast = solvers::search_budget::fast();  // options can say how the plan is made again
      asked.by_estimates = true, asked.effort = {fast.tasks, fast.candidates, effort.largest};
    }
    result<plan> made = plan_named(asked, lengths, any_cost(cost));
    const bool as_asked = asked.effort == s.options.effort;
    const bool is_look = asked.effort == shape_search{}.probe;
    if (made)
      made.value().origin = origin_of(s, planner, on,
                                      {as_asked  ? s.options.effort_text
                                       : is_look ? "look"
                                                 : "fast",
                                       asked.by_estimates});
    return made;
  }
  template <class Cost>
  seconds least(const layout& on, const Cost& cost, std::span<const tokens> lengths) const {
    return cuts(planner) && s.options.trainer.cuts ? seconds{}
                                                   : uncut_floor(cost, on.shape, lengths, s.options.forward_only);
  }

 private:
  [[nodiscard]] result<plan> tuned_on(const request& asked, const any_cost& cost,
                                      std::span<const tokens> lengths) const {
    const double to_beat = fastest ? fastest->load() : std::numeric_limits<double>::infinity();
    result<plan> made = tuned(asked, lengths, cost, seconds{to_beat}).made;
    if (!made || !fastest) return made;
    const double step = made.value().step_time.value;
    for (double seen = fastest->load(); step < seen && !fastest->compare_exchange_weak(seen, step);) {
    }
    return made;
  }
};

/// Whether the costs of a setting price a vocabulary that is spread over the stages.
bool can_spread(const setting& s) {
  return s.measured ? spreads_vocabulary<costs::profiled>() : spreads_vocabulary<costs::transformer>();
}

std::string share_of(std::size_t count, const char* reason) {
  return count == 0 ? std::string{} : ", " + std::to_string(count) + " " + reason;
}

std::vector<std::string> line_of(const ranking& found, const candidate& c, bool has_experts, bool spreads,
                                 std::optional<double> mfu) {
  const shape& on = c.layout.shape;
  std::vector<std::string> cells;
  for (const int degree : {on.replicas, on.stages, on.tensor, on.context}) cells.push_back(std::to_string(degree));
  if (has_experts) cells.push_back(std::to_string(on.expert));
  cells.push_back(std::to_string(on.chunks));
  if (spreads)
    cells.push_back(on.stages == 1 ? "-" : name_of(on.vocabulary) + std::string(on.words.empty() ? "" : ", unequal"));
  cells.emplace_back(name_of(c.layout.recompute));
  cells.push_back(c.layout.layers.empty() ? "-" : layers_text(c.layout.layers));
  cells.push_back(time_of(c.step_time) + (c.finalist ? "" : " ~"));
  cells.push_back(time_of(c.fastest) + " to " + time_of(c.slowest));
  cells.push_back(fixed(found.rate(c), 0));
  cells.push_back(mfu_text(mfu));
  cells.push_back(percent(c.useful, 2));
  cells.push_back(gain_text(c.efficiency()));
  cells.push_back(slimpack::detail::amount(c.peak_memory, c.memory_unit));
  return cells;
}

}  // namespace

std::vector<costs::recompute> recomputes_of(const setting& s, const std::string& planner) {
  const options& o = s.options;
  if (planner == o.planner && !o.forward_only && (!o.automatic || o.automatic->recompute)) return {s.layout.recompute};
  if (planner != o.planner) {
    if (const auto fixed = fixed_for(planner, o.baselines).recompute) return {*fixed};
    if (o.quadratic) return {s.layout.recompute};
  }
  if (o.forward_only) return {costs::recompute::none};
  std::vector<costs::recompute> all = shapes::space{}.recompute;
  std::erase_if(all, [&](costs::recompute what) { return !o.trainer.recomputes(what) || !s.tensors.knows(what); });
  const auto own = std::find(all.begin(), all.end(), s.layout.recompute);
  if (own != all.end()) std::rotate(all.begin(), own, own + 1);
  return all;
}

std::vector<layout> layouts_of(const setting& s, const std::string& planner, int gpus) {
  const auto given = *s.options.automatic;
  const shape& on = s.layout.shape;
  const auto degree = [](bool fixed, int value) { return fixed ? std::optional(value) : std::nullopt; };
  shapes::space all{.gpus = gpus,
                    .gpus_per_node = s.device->gpus_per_node,
                    .layers = s.model->layers,
                    .heads = s.model->heads,
                    .experts = s.model->experts,
                    .quantum = s.options.quantum,
                    .memory = on.memory,
                    .replicas = degree(given.replicas, on.replicas),
                    .stages = degree(given.stages, on.stages),
                    .tensor = degree(given.tensor, on.tensor),
                    .context = degree(given.context, on.context),
                    .expert = degree(given.expert, on.expert)};
  if (given.chunks || planner == "milp") all.chunks = {on.chunks};
  all.vocabularies = {on.vocabulary};
  if (!given.vocabulary && planner != "milp" && can_spread(s))
    all.vocabularies = {vocabulary::spread, vocabulary::last};
  all.recompute = recomputes_of(s, planner);
  const trainer& can = s.options.trainer;
  if (!can.chunks) all.chunks = {1};
  if (!can.spread_vocabulary) all.vocabularies = {vocabulary::last};
  if (s.options.forward_only) all.vocabularies = {vocabulary::last};
  std::vector<layout> found = all.layouts();
  std::erase_if(found, [&](const layout& one) { return !can_be_imbalanced(s, one) || !divides_slices(one.shape); });
  for (layout& one : found) one.layers = s.layout.layers, one.shape.words = on.words;
  return found;
}

std::vector<layout> with_even_stages(const setting& s, std::vector<layout> layouts,
                                     std::span<const std::vector<tokens>> batches) {
  const auto among = [&](const auto& cost_of) {
    const std::span<const pass> passes(both_passes);
    return shapes::with_even_stages(*s.model, std::move(layouts), batches, cost_of,
                                    s.options.forward_only ? passes.first(1) : passes);
  };
  if (s.measured)
    return among([&](const costs::model_shape& model, const layout& one) {
      return profiled_on(s, s.options.planner, model, one);
    });
  return among([&](const costs::model_shape& model, const layout& one) {
    return transformer_on(s, s.options.planner, model, one);
  });
}

std::vector<layout> with_unequal_words(const setting& s, const std::string& planner, const layout& on,
                                       std::span<const std::vector<tokens>> batches) {
  const auto among = [&](const auto& cost_of) { return shapes::with_unequal_words(*s.model, on, batches, cost_of); };
  if (s.measured)
    return among(
        [&](const costs::model_shape& model, const layout& one) { return profiled_on(s, planner, model, one); });
  return among(
      [&](const costs::model_shape& model, const layout& one) { return transformer_on(s, planner, model, one); });
}

result<ranking> ranked(const setting& s, const std::string& planner, shape_search how, std::span<const layout> layouts,
                       std::span<const std::vector<tokens>> batches, std::stop_token stop,
                       const shapes::progress_listener& told, std::span<const forest> forests) {
  std::atomic<double> fastest{std::numeric_limits<double>::infinity()};
  const named plan_of{s, planner, stop, batches.size() == 1 ? &fastest : nullptr, batches, forests};
  how.forward_only = s.options.forward_only;
  const auto search = [&](const auto& cost_of) { return how(layouts, batches, cost_of, plan_of, stop, told); };
  if (s.options.quadratic)
    return search([&](const layout& on) -> result<costs::quadratic> { return quadratic_on(s, on); });
  const auto measured_on = [&](const layout& on) {
    const auto make = [&] { return profiled_on(s, planner, *s.model, on); };
    return s.made ? s.made->of(on, cuts(planner), make) : make();
  };
  if (s.measured) return search(measured_on);
  return search([&](const layout& on) { return transformer_on(s, planner, *s.model, on); });
}

std::string text_of(const shapes::search_progress& far) {
  using round = shapes::search_progress::round;
  const char* const what = far.now == round::bounds   ? "bounds of"
                           : far.now == round::probes ? "a first look at"
                                                      : "plans of";
  std::string text = std::string(what) + " layouts, " + std::to_string(far.left) +
                     (far.now == round::probes ? " left at most" : " left");
  if (far.best > seconds{}) text += ", best so far " + time_of(far.best);
  return text;
}

void print_ranking(std::ostream& out, const std::string& planner, const ranking& found, const setting& s,
                   std::span<const std::vector<tokens>> batches) {
  const auto count = [&](outcome what) { return found.count(what); };
  out << "shapes    " << planner << " on " << s.options.automatic->gpus << " GPUs, mean over "
      << (s.options.batches > 1 ? std::to_string(s.options.batches) + " batches" : std::string("the batch")) << ": of "
      << found.candidates.size() << " layouts " << count(outcome::planned) << " planned"
      << share_of(count(outcome::bounded), "proven to be slower")
      << share_of(count(outcome::slower), "slower on the first batches")
      << share_of(count(outcome::too_long), "not tried: they fit only with very many packs")
      << share_of(count(outcome::cramped), "not tried: they leave too little memory free")
      << share_of(count(outcome::too_large), "proven to exceed the memory")
      << share_of(count(outcome::no_room), "without a plan that fits the memory")
      << share_of(count(outcome::refused), "refused")
      << share_of(count(outcome::untried), "not tried: the time ran out") << "\n";
  const bool has_experts = s.model->experts > 0;
  const bool spreads = std::any_of(found.candidates.begin(), found.candidates.end(),
                                   [](const candidate& c) { return c.layout.shape.vocabulary == vocabulary::spread; });
  std::vector<std::vector<std::string>> table{{"dp", "pp", "tp", "cp", "vpp", "recompute", "layers",
                                               s.options.forward_only ? "time" : "step time", "of batches",
                                               "tokens/s/GPU", "MFU", "useful", "to gain", "peak memory"}};
  if (spreads) table.front().insert(table.front().begin() + 5, "vocabulary");
  if (has_experts) table.front().insert(table.front().begin() + 4, "ep");
  double flops = 0;
  for (const std::vector<tokens>& lengths : batches) flops += costs::training_flops(*s.model, lengths);
  const double mean_flops = flops / static_cast<double>(batches.size());
  const auto mfu_of = [&](const candidate& c) -> std::optional<double> {
    if (s.options.forward_only) return std::nullopt;  // an evaluation trains nothing
    return mean_flops / (c.step_time.value * static_cast<double>(c.layout.gpus()) * s.device->peak_bf16_flops);
  };
  bool rough = false, beyond_peak = false;
  for (std::size_t i = 0; i < std::min<std::size_t>(10, count(outcome::planned)); ++i) {
    const candidate& c = found.candidates[i];
    table.push_back(line_of(found, c, has_experts, spreads, mfu_of(c)));
    rough |= !c.finalist;
    beyond_peak |= mfu_of(c) > 1;
  }
  print_table(out, table);
  const candidate& best = found.candidates.front();
  if (rough && best.finalist) out << "~ searched only roughly: already slower than the others.\n";
  if (!best.finalist)
    out << "~ searched with less effort than asked for: the time ran out"
        << (count(outcome::planned) == 1 ? " before this plan, the first that fits, was made" : "") << ".\n";
  if (beyond_peak) out << beyond_peak_text(s) << "\n";
  out << "\n";
}

error none_of(const ranking& found, const std::string& planner, int gpus) {
  // The nearest miss says most: what the planner tried, else what needs least, else what was refused.
  const candidate* nearest = &found.candidates.front();
  for (const candidate& c : found.candidates) {
    const bool nearer =
        c.outcome == outcome::no_room
            ? nearest->outcome != outcome::no_room
            : c.outcome == outcome::too_large && nearest->outcome == outcome::too_large && c.missing < nearest->missing;
    if (nearer) nearest = &c;
  }
  const bool memory = nearest->outcome == outcome::too_large || nearest->outcome == outcome::no_room;
  return {memory ? errc::out_of_memory : errc::invalid_input,
          "none of " + std::to_string(found.candidates.size()) + " layouts of " + std::to_string(gpus) + " GPUs " +
              (memory ? "has a plan of " + planner + " that fits: " : "can be planned with " + planner + ": ") +
              options_of(nearest->layout) + ": " + nearest->why};
}

}  // namespace cli
