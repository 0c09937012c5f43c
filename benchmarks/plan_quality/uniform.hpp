#ifndef SLIMPACK_BENCHMARKS_PLAN_QUALITY_UNIFORM_HPP
#define SLIMPACK_BENCHMARKS_PLAN_QUALITY_UNIFORM_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/solvers/search_budget.hpp>

#include <span>

namespace slimpack::plan_quality {

/// The uniform pipeline: 1 us a token forward, as much again for attention to 49,152 tokens, backward 2 and 2.5 times
/// that; 64 token-times a pack, 24 a message.
inline constexpr costs::quadratic uniform_cost{
    .linear = 1e-6, .attention = 2e-6 / 49152, .per_pack = {64e-6}, .hop = {24e-6}};

struct effort {
  const char* name;
  solvers::search_budget budget;
};
inline constexpr effort efforts[] = {{"fast", solvers::search_budget::fast()},
                                     {"normal", solvers::search_budget::normal()},
                                     {"high", solvers::search_budget::high()}};

/// Live tokens of a stage: so many times the longest sequence.
[[nodiscard]] memory_limit times_longest(double factor, std::span<const tokens> lengths);

/// The default planner, its plan certified by Boost.Graph too. planning_time includes that, and is processor time of
/// all threads, so that what else the machine does counts little.
[[nodiscard]] result<plan> planned(const shape& on, const costs::quadratic& cost, std::span<const tokens> lengths,
                                   const solvers::search_budget& effort);

/// Useful work over rank-time, the work from nothing but the plan's lengths.
[[nodiscard]] double useful_share(const plan& p, const costs::quadratic& cost);

}  // namespace slimpack::plan_quality

#endif
