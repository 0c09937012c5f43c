#ifndef SLIMPACK_SOLVERS_DIVIDE_PRICED_GROUP_HPP
#define SLIMPACK_SOLVERS_DIVIDE_PRICED_GROUP_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/pricing/lend.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/shared_rows.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/spread_vocabulary.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::simulators {

/// Replicas that run together, priced.
struct priced_group {
  std::vector<workload> works;                   ///< one per replica of the group
  std::vector<std::vector<program>> programs{};  ///< of each, with the calls of a spread vocabulary; empty: the
                                                 ///< solution's
  tied_graphs graphs{};                          ///< of all of them
};

/// Prices the replicas of a solution that `group` names (joint_groups), and makes their task graphs.
/// Shapes    rates: one per stage, from rates_of; to_beat: what takes no less need not be priced; parents: those of the
///           batch
/// Errors    those of tie_graphs and of spread_vocabulary
/// Complexity O(slices * parts), and that of tie_graphs
template <class Cost>
[[nodiscard]] result<priced_group> price_group(std::span<const std::uint32_t> group, const solution& solved,
                                               const Cost& cost, const shape& on,
                                               const std::vector<memory_rates>& rates, weight_gradients weights,
                                               seconds to_beat = seconds{std::numeric_limits<double>::infinity()},
                                               std::span<const sequence_id> parents = {}) {
  priced_group priced;
  const auto packs_of = [&](std::uint32_t r) -> const partition& { return solved.replicas[r].partition; };
  const rows_of_merges rows(solved.merges, packs_of, group);
  for (const std::uint32_t r : group) {
    const replica_solution& own = solved.replicas[r];
    priced.works.push_back(settled(price(own.partition, cost, on, rates, weights, rows.of(r), parents), own.programs));
    if (ties_stages(own)) lend(own.partition, cost, own.loans, priced.works.back());
  }
  if (on.vocabulary == vocabulary::spread) {
    std::vector<std::vector<program>> layers;
    for (const std::uint32_t r : group) layers.push_back(solved.replicas[r].programs);
    result<std::vector<std::vector<program>>> made =
        schedules::spread_vocabulary(group, priced.works, layers, solved.merges, to_beat);
    if (!made) return std::move(made).error();
    priced.programs = std::move(made).value();
  }
  const auto position = [&](std::uint32_t r) {
    return static_cast<std::size_t>(std::lower_bound(group.begin(), group.end(), r) - group.begin());
  };
  result<tied_graphs> graphs = tie_graphs(
      group, [&](std::uint32_t r) -> const workload& { return priced.works[position(r)]; },
      [&](std::uint32_t r) -> std::span<const program> {
        return priced.programs.empty() ? solved.replicas[r].programs : priced.programs[position(r)];
      },
      solved.merges);
  if (!graphs) return std::move(graphs).error();
  priced.graphs = std::move(graphs).value();
  return priced;
}

}  // namespace slimpack::simulators

#endif
