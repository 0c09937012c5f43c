#include "advice.hpp"

#include "batches.hpp"
#include "choice.hpp"
#include "idle_options.hpp"
#include "padding.hpp"
#include "progress.hpp"
#include "texts.hpp"

#include <slimpack/service/deadline.hpp>
#include <slimpack/shapes/layout.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <stop_token>
#include <utility>

namespace cli {
namespace {

using namespace slimpack;
using shapes::candidate;
using shapes::layout;

/// The fastest of these layouts with a plan for every batch, until the time is up. Among many, measured prices would
/// take long to tabulate: the analytic ones choose, and the measured ones tell its time.
std::optional<candidate> fastest(const setting& s, std::span<const layout> layouts,
                                 std::span<const std::vector<tokens>> batches, const std::stop_token& stop) {
  if (layouts.empty() || stop.stop_requested()) return std::nullopt;
  if (s.measured && layouts.size() > 1) {
    setting analytic = s;
    analytic.measured.reset();
    analytic.options.prices = prices::transformer;
    const std::optional<candidate> best = fastest(analytic, layouts, batches, stop);
    return best ? fastest(s, std::span(&best->layout, 1), batches, stop) : std::nullopt;
  }
  const auto fast = solvers::search_budget::fast();
  const shape_search how{.first = fast, .effort = fast, .finalists = 1, .threads = s.options.threads};
  const result<shapes::ranking> found = ranked(s, s.options.planner, how, layouts, batches, stop);
  return found && found.value().best() ? std::optional(*found.value().best()) : std::nullopt;
}

/// All layouts of so many GPUs that can be typed beside the options. A quadratic cost prices one stage, so nothing that
/// would change a stage may change.
std::vector<layout> layouts_on(const setting& s, int gpus) {
  const shape& on = s.layout.shape;
  std::vector<int> chunks{1};
  if (on.chunks > 1) chunks.push_back(on.chunks);
  shapes::space all{.gpus = gpus, .quantum = s.options.quantum, .memory = on.memory, .chunks = chunks};
  if (s.options.quadratic) {
    all.layers = on.parts();
    all.stages = on.stages, all.tensor = on.tensor, all.context = on.context;
    all.recompute = {s.layout.recompute};
  } else {
    all.experts = s.model->experts;
    if (on.vocabulary == vocabulary::spread) all.vocabularies = {vocabulary::spread, vocabulary::last};
    all.layers = s.model->layers, all.heads = s.model->heads, all.gpus_per_node = s.device->gpus_per_node;
    std::erase_if(all.recompute,
                  [&](costs::recompute what) { return !s.options.trainer.recomputes(what) || !s.tensors.knows(what); });
    if (s.options.forward_only) all.recompute = {costs::recompute::none};
  }
  std::vector<layout> found = all.layouts();
  std::erase_if(found, [&](const layout& one) {
    return !can_be_imbalanced(s, one) || !divides_slices(one.shape) || !refusal(s.options, one).empty();
  });
  return found;
}

std::string fits(const setting& s, const std::string& options, const candidate& c, std::int64_t gpus) {
  return options + " fits: " + time_of(c.step_time) + (s.options.forward_only ? " an evaluation on " : " a step on ") +
         (c.layout.gpus() == gpus ? "the same number of GPUs"
                                  : std::to_string(c.layout.gpus()) + " GPUs instead of " + std::to_string(gpus)) +
         " (" + percent(c.useful, 2) + " useful, " + gain_text(std::min(1.0, c.efficiency())) + " to gain)";
}

/// What can be changed, and what may be tried for it.
struct question {
  const setting& s;
  std::span<const std::vector<tokens>> batches;
  std::int64_t gpus;
  std::stop_token stop;

  /// The layouts of so many GPUs, those that differ least first.
  [[nodiscard]] std::vector<std::vector<layout>> layouts(std::int64_t n) const {
    if (s.options.automatic) return {layouts_of(s, s.options.planner, static_cast<int>(n))};
    std::vector<layout> all = layouts_on(s, static_cast<int>(n));
    std::vector<layout> near;
    std::copy_if(all.begin(), all.end(), std::back_inserter(near),
                 [&](const layout& l) { return l.changes(s.layout) <= 2; });
    return {std::move(near), std::move(all)};
  }
  [[nodiscard]] std::optional<candidate> on(std::int64_t n) const {
    for (const std::vector<layout>& tried : layouts(n))
      if (std::optional<candidate> best = fastest(s, tried, batches, stop)) return best;
    return std::nullopt;
  }
  /// The layouts that are asked for, under another limit.
  [[nodiscard]] std::optional<candidate> under(double limit) const {
    std::vector<layout> tried = s.options.automatic ? layouts(gpus).front() : std::vector<layout>{s.layout};
    for (layout& l : tried) l.shape.memory->amount = limit;
    return fastest(s, tried, batches, stop);
  }
};

/// The least limit of memory that was found to do, where one was given and the GPU has more.
std::optional<std::string> advice_on_memory(const question& asked) {
  const memory_limit given = *asked.s.layout.shape.memory;
  const bool in_tokens = given.unit == memory_unit::token;
  if (!asked.s.options.limits_memory) return std::nullopt;
  const std::optional<candidate> free = asked.under(std::numeric_limits<double>::infinity());
  if (!free) return std::nullopt;
  // Told in units that can be typed: what a cut is a multiple of, or an eighth of a GiB.
  const double unit = in_tokens ? static_cast<double>(asked.s.layout.shape.quantum.value) : 134217728.0;
  double low = std::floor(given.amount / unit);
  double high = std::ceil(free->peak_memory / unit);
  if (!in_tokens) {
    const result<memory_limit> usual = usual_limit(*asked.s.device);
    if (!usual) return std::nullopt;
    high = std::min(high, std::floor(usual.value().amount / unit));
  }
  std::optional<candidate> best = high > low ? asked.under(high * unit) : std::nullopt;
  if (!best) return std::nullopt;
  while (high - low > std::max(1.0, high / 32)) {
    const double middle = std::floor((low + high) / 2);
    if (std::optional<candidate> fitting = asked.under(middle * unit))
      high = middle, best = std::move(fitting);
    else
      low = middle;
  }
  const int digits = std::fmod(high, 8) == 0 ? 0 : 3;
  return fits(asked.s, "--memory " + (in_tokens ? fixed(high * unit, 0) + "tokens" : fixed(high / 8, digits) + "GiB"),
              *best, asked.gpus);
}

/// More GPUs: twice as many again and again, then as few between the last two as three more trials find.
std::optional<std::string> advice_on_gpus(const question& asked, std::int64_t most) {
  const std::int64_t base = asked.gpus;
  std::optional<candidate> best;
  std::int64_t enough = base;
  while (!best && 2 * enough <= most && !asked.stop.stop_requested()) best = asked.on(enough *= 2);
  if (!best) return std::nullopt;
  std::int64_t few = enough / 2;
  for (int trial = 0; trial < 3 && enough - few > base; ++trial) {
    const std::int64_t middle = (few + enough) / 2 / base * base;
    if (std::optional<candidate> fitting = middle > few ? asked.on(middle) : std::nullopt)
      enough = middle, best = std::move(fitting);
    else
      few = middle;
  }
  const bool chosen = asked.s.options.automatic.has_value();
  return fits(asked.s, chosen ? "--gpus " + std::to_string(enough) : options_of(best->layout, asked.s.layout), *best,
              base);
}

/// Other exchanges than the one that keeps keys and values of others, where slimpack's replicas may share sequences by
/// that alone.
std::optional<candidate> by_any_exchange(const question& asked) {
  const setting& s = asked.s;
  setting other = s;
  other.options.exchanges = s.options.trainer.exchanges;
  const bool keeps_all =
      s.options.exchanges == exchange_set::only(exchange::keep) && !other.options.exchanges.without_keeping().empty();
  if (!keeps_all || s.options.planner != "slimpack" || s.options.sharers == 1 || s.layout.shape.replicas == 1 ||
      s.options.forward_only)
    return std::nullopt;
  return fastest(other, std::span(&s.layout, 1), asked.batches, asked.stop);
}

/// A usual batch, where a whole data set was taken for one.
std::optional<std::string> advice_on_batch(const question& asked) {
  constexpr std::size_t usual = 512;
  const options& o = asked.s.options;
  if (o.batch || o.token_budget || o.automatic || asked.batches.front().size() <= many_sequences) return std::nullopt;
  const std::vector<tokens> first(asked.batches.front().begin(), asked.batches.front().begin() + usual);
  const std::optional<candidate> best =
      fastest(asked.s, std::span(&asked.s.layout, 1), std::span(&first, 1), asked.stop);
  if (!best) return std::nullopt;
  return fits(asked.s,
              "--batch " + std::to_string(usual) + ", not all " + std::to_string(asked.batches.front().size()) +
                  " sequences as one batch,",
              *best, asked.gpus);
}

std::string found(const question& asked) {
  const setting& s = asked.s;
  const std::int64_t gpus = asked.gpus;
  if (const std::optional<std::string> fewer = advice_on_batch(asked)) return *fewer;
  if (!s.options.automatic) {
    if (s.options.planner != "slimpack") {
      setting own = s;
      own.options.planner = "slimpack";
      const bool can_be_typed = refusal(own.options, s.layout).empty();
      if (const std::optional<candidate> best =
              can_be_typed ? fastest(own, std::span(&s.layout, 1), asked.batches, asked.stop) : std::nullopt)
        return fits(s, "--planner slimpack", *best, gpus);
    }
    const std::optional<candidate> best = asked.on(gpus), other = by_any_exchange(asked);
    const std::string layout = best ? fits(s, options_of(best->layout, s.layout), *best, gpus) : "";
    const std::string exchange = other ? fits(s, "--exchange any", *other, gpus) : "";
    if (best && other) return exchange + ", and " + layout;
    if (best || other) return best ? layout : exchange;
  }
  const std::optional<std::string> memory = advice_on_memory(asked);
  // Where more memory does, many times as many GPUs are no help that anyone would take.
  const std::int64_t most = memory ? 4 * gpus : std::min<std::int64_t>(65536, std::max<std::int64_t>(16 * gpus, 4096));
  const std::optional<std::string> more = advice_on_gpus(asked, most);
  if (memory && more) return *memory + ", and " + *more;
  if (memory || more) return memory ? *memory : *more;
  std::int64_t longest = 0;
  for (const std::vector<tokens>& lengths : asked.batches)
    longest = std::max(longest, std::max_element(lengths.begin(), lengths.end())->value);
  return "nothing that was tried on up to " + std::to_string(most) +
         " GPUs fits: raise --memory (the longest sequence alone has " + std::to_string(longest) +
         " tokens) or lower --max-context";
}

}  // namespace

std::string advice(const setting& s, std::span<const std::vector<tokens>> batches) {
  const progress shown("looking for what fits");
  const std::chrono::milliseconds most =
      s.options.time_limit_ms ? std::chrono::milliseconds(*s.options.time_limit_ms) : std::chrono::seconds(30);
  const deadline limit(most);
  const question asked{s, batches, s.options.automatic ? s.options.automatic->gpus : s.layout.gpus(), limit.token()};
  const std::string told = found(asked);
  if (!asked.stop.stop_requested()) return told;
  return told + "; this search ended after " + time_of({std::chrono::duration<double>(most).count()}) +
         ", and a longer one may find a better answer";
}

}  // namespace cli
