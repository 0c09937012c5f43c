#ifndef SLIMPACK_EXAMPLES_PLAN_PLANNERS_HPP
#define SLIMPACK_EXAMPLES_PLAN_PLANNERS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/costs/profiled.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/solvers/search_budget.hpp>

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

namespace cli {

using any_cost = std::variant<slimpack::costs::quadratic, slimpack::costs::transformer, slimpack::costs::profiled>;

/// The names that --planner and --compare take, the default first.
const std::vector<std::string>& planner_names();

/// What one planner is asked.
struct request {
  std::string planner;
  slimpack::shape shape;
  slimpack::tokens context;  ///< of a baseline's packs; 0: the longest sequence
  slimpack::solvers::search_budget effort;
  std::stop_token stop{};
  std::uint32_t most_sharers{65536};  ///< replicas that may share a sequence; 1: none
};

/// Plans with the planner of that name. Requires a known name.
slimpack::result<slimpack::plan> plan_named(const request& asked, std::span<const slimpack::tokens> lengths,
                                            const any_cost& cost);

}  // namespace cli

#endif
