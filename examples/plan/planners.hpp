#ifndef SLIMPACK_EXAMPLES_PLAN_PLANNERS_HPP
#define SLIMPACK_EXAMPLES_PLAN_PLANNERS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/lending/loans_of.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/costs/profiled.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/simulators/bounds/forward_bounds.hpp>
#include <slimpack/simulators/bounds/lower_bounds.hpp>
#include <slimpack/solvers/baselines/relaying.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/search_report.hpp>
#include <slimpack/solvers/sharing_zones.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
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
  slimpack::tokens context{};  ///< of packs and rows of baselines; 0: the longest sequence, or what is fastest where
                               ///< they are tuned
  int slices{0};               ///< of a row of slimpipe; 0: as many as there are stages, or what is fastest
  slimpack::attention_lending lending{slimpack::attention_lending::none};  ///< of slimpipe
  bool at_forks{};       ///< tree_micro_batches cuts trees at their highest forks
  bool tunes_lending{};  ///< where slimpipe is tuned, it may lend by what is fastest, whatever `lending` says
  slimpack::solvers::search_budget effort;
  std::stop_token stop{};
  std::uint32_t most_sharers{65536};        ///< replicas that may share a sequence; 1: none
  slimpack::exchange_set exchanges{};       ///< that those may use
  slimpack::solvers::sharing_zones zone{};  ///< of zeppelin, and of slimpack where zones are asked for
  bool zones{};                             ///< they limit slimpack's own division
  slimpack::result<slimpack::solvers::relaying> relays{slimpack::solvers::relaying{}};  ///< of planners in rings; why
                                                                                        ///< there can be none
  bool by_estimates{};  ///< of slimpack's own plans: divide::estimated, else divide::searched
  slimpack::weight_gradients weights{slimpack::weight_gradients::with_inputs};  ///< of slimpack's own plans
  slimpack::backward_cuts cuts{slimpack::backward_cuts::any};                   ///< of slimpack's own plans
  bool may_cut{true};   ///< sequences, in slimpack's own plans; else these have the packs of the fastest baseline that
                        ///< cuts none
  bool forward_only{};  ///< plan the forward alone, to evaluate
  const slimpack::forest* samples{nullptr};  ///< that share beginnings: the lengths that are planned are those of its
                                             ///< sequences; none of a list
  std::size_t threads{0};                    ///< to plan with, 0: one per core; plans do not depend on it
  slimpack::solvers::search_report* report{nullptr};  ///< takes what slimpack's own search did
};

/// Whether that planner is one of the shipped baselines.
bool is_baseline(const std::string& planner);

/// Whether that planner plans samples that share beginnings.
bool plans_forests(const std::string& planner);

/// Whether that planner may cut a sequence.
bool cuts(const std::string& planner);

/// Gives a baseline what the request says of its rows, or of its parts of trees.
template <class Recipe>
void set_rows(Recipe& recipe, const request& asked) {
  if constexpr (requires { recipe.solver.slices; })
    recipe.solver.slices = asked.slices, recipe.solver.lending = asked.lending;
  if constexpr (requires { recipe.solver.at_forks; }) recipe.solver.at_forks = asked.at_forks;
}

/// Why that planner plans no forward alone; empty where it does.
std::string why_no_forward(const std::string& planner);

/// By which exchange its replicas share every sequence that they share; none of others.
std::optional<slimpack::exchange> exchange_of(const std::string& planner);

/// Whether rows of that planner go round its replicas, so that relays can carry them between nodes.
bool goes_round(const std::string& planner);

/// The segments that --relay asks for: 0 of none, 1 of proxies, N of proxies:N.
/// Errors    invalid_input: another text
slimpack::result<std::uint32_t> segments_named(const std::string& text);
/// Refuses --relay where no planner of these has rows that go round.
slimpack::result<void> check_relays(std::span<const std::string> planners);

/// Least time, before the reduction of gradients, of any plan that cuts no sequence: each crosses the pipeline as one
/// piece and, but where forward runs alone, comes back.
template <class Cost>
slimpack::seconds uncut_floor(const Cost& cost, slimpack::shape on, std::span<const slimpack::tokens> lengths,
                              bool forward_only) {
  slimpack::seconds floor{};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    on.quantum = lengths[i];
    const slimpack::sequence whole{{static_cast<std::uint32_t>(i)}, lengths[i]};
    using namespace slimpack::simulators;
    floor = std::max(floor, forward_only ? way_bound(cost, on, whole) : chain_bound(cost, on, whole));
  }
  return floor;
}

/// What --divide takes, the default first.
inline constexpr const char* dividers[]{"searched", "estimated"};
/// What --exchange takes, the default first, and the exchanges that it stands for.
inline constexpr const char* exchanges[]{"keep", "queries", "ring", "any"};
slimpack::exchange_set exchanges_named(const std::string& name);

/// What a rank of that replica plans for itself, as plan_named plans it for all.
/// Requires  slimpack's own planner, by estimates
slimpack::result<slimpack::rank_plan> plan_of_replica(const request& asked, std::span<const slimpack::tokens> lengths,
                                                      const any_cost& cost, std::uint32_t replica);

/// Plans with the planner of that name. Requires a known name.
slimpack::result<slimpack::plan> plan_named(const request& asked, std::span<const slimpack::tokens> lengths,
                                            const any_cost& cost);

}  // namespace cli

#endif
