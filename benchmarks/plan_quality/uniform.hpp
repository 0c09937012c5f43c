#ifndef SLIMPACK_BENCHMARKS_PLAN_QUALITY_UNIFORM_HPP
#define SLIMPACK_BENCHMARKS_PLAN_QUALITY_UNIFORM_HPP

#include "../uniform_pipeline.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/solvers/search_options.hpp>

#include <cstdint>
#include <span>

namespace slimpack::plan_quality {

using benchmarks::times_longest;
using benchmarks::uniform_cost;

struct effort {
  const char* name;
  solvers::search_budget budget;
};
inline constexpr effort efforts[] = {{"fast", solvers::search_budget::fast()},
                                     {"normal", solvers::search_budget::normal()},
                                     {"high", solvers::search_budget::high()}};

/// The default planner, or one whose schedule may run weight gradients apart, its plan simulated by Boost.Graph.
/// planning_time includes that, and is processor time of all threads, so that what else the machine does counts little.
[[nodiscard]] result<plan> planned(const shape& on, const costs::quadratic& cost, std::span<const tokens> lengths,
                                   const solvers::search_budget& effort,
                                   weight_gradients weights = weight_gradients::with_inputs);

/// The same by a planner that divides by estimates (divide::estimated).
[[nodiscard]] result<plan> planned_by_estimates(const shape& on, const costs::quadratic& cost,
                                                std::span<const tokens> lengths, const solvers::search_budget& effort);

/// What that planner makes for one rank: the group of its replica. planning_time is likewise processor time, of one
/// thread.
[[nodiscard]] result<rank_plan> planned_for_rank(const shape& on, const costs::quadratic& cost,
                                                 std::span<const tokens> lengths, const solvers::search_budget& effort,
                                                 std::uint32_t replica);

/// Useful work over rank-time, the work from nothing but the plan's lengths.
[[nodiscard]] double useful_share(const plan& p, const costs::quadratic& cost);

}  // namespace slimpack::plan_quality

#endif
