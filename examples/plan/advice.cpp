#include "advice.hpp"

#include "choice.hpp"
#include "progress.hpp"
#include "texts.hpp"

#include <slimpack/shapes/space.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>

namespace cli {
namespace {

using namespace slimpack;
using shapes::candidate;
using shapes::layout;

/// The fastest of these layouts with a plan for every batch.
std::optional<candidate> fastest(const setting& s, std::span<const layout> layouts,
                                 std::span<const std::vector<tokens>> batches) {
  const auto fast = solvers::search_budget::fast();
  const shape_search how{.first = fast, .effort = fast, .finalists = 1, .threads = s.options.threads};
  const result<shapes::ranking> found = ranked(s, s.options.planner, how, layouts, batches);
  return found && found.value().best() ? std::optional(*found.value().best()) : std::nullopt;
}

/// All layouts of so many GPUs. A quadratic cost prices one stage, so nothing that would change a stage may change.
std::vector<layout> layouts_on(const setting& s, int gpus) {
  const shape& on = s.layout.shape;
  std::vector<int> chunks{1};
  if (on.chunks > 1) chunks.push_back(on.chunks);
  shapes::space all{.gpus = gpus, .quantum = on.quantum, .memory = on.memory, .chunks = chunks};
  if (s.options.quadratic) {
    all.layers = on.parts();
    all.stages = on.stages, all.tensor = on.tensor, all.context = on.context;
    all.recompute = {s.layout.recompute};
  } else {
    all.experts = s.model->experts;
    all.layers = s.model->layers, all.heads = s.model->heads, all.gpus_per_node = s.device->gpus_per_node;
  }
  return all.layouts();
}

std::string fits(const std::string& options, const candidate& c, std::int64_t gpus) {
  return options + " fits: " + time_of(c.step_time) + " a step on " +
         (c.layout.gpus() == gpus ? "as many GPUs" : std::to_string(c.layout.gpus()) + " GPUs instead of " + std::to_string(gpus));
}

/// Where the shape is chosen: more GPUs, everything else chosen anew.
std::string advice_on_gpus(const setting& s, std::span<const std::vector<tokens>> batches) {
  const int gpus = s.options.automatic->gpus;
  for (int n = 2 * gpus; n <= std::max(2 * gpus, 4096); n *= 2)
    if (const std::optional<candidate> best = fastest(s, layouts_of(s, s.options.planner, n), batches))
      return fits("--gpus " + std::to_string(n), *best, gpus);
  return "nor does any up to 4096 GPUs: give fewer degrees, or lower --max-context";
}

}  // namespace

std::string advice(const setting& s, std::span<const std::vector<tokens>> batches) {
  const progress shown("looking for what fits");
  if (s.options.automatic) return advice_on_gpus(s, batches);
  const std::int64_t gpus = s.layout.gpus();
  if (s.options.planner != "slimpack") {
    setting own = s;
    own.options.planner = "slimpack";
    if (const std::optional<candidate> best = fastest(own, std::span(&s.layout, 1), batches))
      return fits("--planner slimpack", *best, gpus);
  }
  for (std::int64_t n = gpus; n <= std::max<std::int64_t>(16 * gpus, 4096) && n <= 65536; n *= 2) {
    const std::vector<layout> all = layouts_on(s, static_cast<int>(n));
    std::vector<layout> near;
    std::copy_if(all.begin(), all.end(), std::back_inserter(near),
                 [&](const layout& l) { return l.changes(s.layout) <= 2; });
    for (const std::vector<layout>& tried : {near, all})
      if (const std::optional<candidate> best = fastest(s, tried, batches))
        return fits(options_of(best->layout, s.layout), *best, gpus);
  }
  std::int64_t longest = 0;
  for (const std::vector<tokens>& lengths : batches)
    longest = std::max(longest, std::max_element(lengths.begin(), lengths.end())->value);
  return "no change of shape or recomputation helps: raise --memory (the longest sequence alone has " +
         std::to_string(longest) + " tokens) or lower --max-context";
}

}  // namespace cli
