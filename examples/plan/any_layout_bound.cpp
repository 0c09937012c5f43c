#include "any_layout_bound.hpp"

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/shapes/layout.hpp>

#include <algorithm>
#include <span>
#include <variant>
#include <vector>

namespace cli {
namespace {

using namespace slimpack;

/// Useful work of a batch on a pipeline, of one GPU a stage.
template <class Cost>
seconds useful_work(const Cost& cost, std::span<const sequence> batch, int stages, std::span<const pass> passes) {
  seconds sum{};
  for (const sequence& s : batch)
    for (const pass direction : passes)
      for (int part = 0; part < stages; ++part) sum += useful_time(cost, s.whole(), direction, part);
  return sum;
}

}  // namespace

std::optional<seconds> any_layout_bound(const setting& s, const plan& p, const batch_view& of) {
  const std::vector<sequence> batch = of.sequences();
  const double ranks = static_cast<double>(p.shape.stages) * p.shape.replicas;
  const std::span<const pass> passes = std::span(both_passes).first(is_forward_only(p) ? 1 : 2);
  seconds least = p.rank_time->useful * (1 / ranks);
  if (s.options.quadratic) return least;  // knows the time of a stage, whatever its GPUs
  for (const int stages : {1, s.model->layers}) {
    shapes::layout on;
    on.shape.quantum = p.shape.quantum;
    on.shape.stages = stages;
    const result<any_cost> cost = cost_on(s, p.planner, on);
    if (!cost) return std::nullopt;
    const seconds work =
        std::visit([&](const auto& one) { return useful_work(one, batch, stages, passes); }, cost.value());
    least = std::min(least, work * (1 / (ranks * p.shape.tensor * p.shape.context)));
  }
  return least;
}

}  // namespace cli
