#include "advice.hpp"

#include <algorithm>
#include <utility>

namespace cli {
namespace {

using namespace slimpack;

bool fits(const setting& s, const std::string& planner, const shape& on, const any_cost& cost,
          std::span<const tokens> lengths) {
  const tokens context = s.options.max_context.value_or(tokens{0});
  return plan_named({planner, on, context, solvers::search_budget::fast()}, lengths, cost).has_value();
}

bool fits(const setting& s, const shape& on, costs::recompute again, std::span<const tokens> lengths) {
  const result<any_cost> cost = cost_on(s, on, again);
  return cost && fits(s, s.options.planner, on, cost.value(), lengths);
}

std::string advice_on_tokens(const setting& s, std::span<const tokens> lengths) {
  if (s.shape.chunks > 1) {
    shape plain = s.shape;
    plain.chunks = 1;
    if (fits(s, s.options.planner, plain, s.cost, lengths)) return "--vpp 1 fits";
  }
  return "raise --memory (the longest sequence alone has " +
         std::to_string(std::max_element(lengths.begin(), lengths.end())->value) + " tokens) or lower --max-context";
}

}  // namespace

std::string advice(const setting& s, std::span<const tokens> lengths) {
  if (s.options.planner != "slimpack" && fits(s, "slimpack", s.shape, s.cost, lengths))
    return "--planner slimpack fits";
  if (!s.shape.memory) return "lower --quantum";
  if (s.shape.memory->unit == memory_unit::token) return advice_on_tokens(s, lengths);
  using costs::recompute;
  for (const auto& [name, again] : {std::pair{"selective", recompute::selective}, {"full", recompute::full}})
    if (again > s.options.recompute && fits(s, s.shape, again, lengths))
      return std::string("--recompute ") + name + " would make it fit";
  for (const auto& [name, degree] :
       {std::pair{"--tp ", &shape::tensor}, {"--pp ", &shape::stages}, {"--cp ", &shape::context}})
    for (int times = 2; times <= 16; times *= 2) {
      shape wider = s.shape;
      wider.*degree *= times;
      if (degree == &shape::tensor && wider.tensor > s.device->gpus_per_node) continue;
      if (fits(s, wider, s.options.recompute, lengths))
        return name + std::to_string(wider.*degree) + " would make it fit";
    }
  return "no single change of --recompute, --tp, --pp or --cp makes it fit: change several, or lower --max-context";
}

}  // namespace cli
