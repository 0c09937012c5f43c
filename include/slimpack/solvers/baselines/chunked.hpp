#ifndef SLIMPACK_SOLVERS_BASELINES_CHUNKED_HPP
#define SLIMPACK_SOLVERS_BASELINES_CHUNKED_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/baselines/recipe.hpp>
#include <slimpack/solvers/detail/put_in_order.hpp>
#include <slimpack/solvers/divide/balance.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/pack/fill.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <utility>
#include <vector>

namespace slimpack::solvers {

/// Baseline: packs of equal tokens. Sequences, balanced by tokens over the replicas and kept in arrival order, are cut
/// and joined into packs of `chunk` tokens, forward from the front and backward from the back of each sequence.
/// Meant for slicers::equal_cost, which then fills packs to the last quantum, and schedules::one_f_one_b{.lead = 2}.
/// Source    ChunkFlow (arXiv:2503.02356, long sequences cut and short ones joined) under SlimPipe's lead of 2
/// Requires  a chunk of at least a quantum; a smaller one counts as one quantum
/// Errors    out_of_memory: a slice that the slicer insists on exceeds the chunk; those of the schedule
/// Complexity O(n log n + slices log(chunk))
struct chunked {
  tokens chunk{8192};

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    return detail::put_in_order(packed(batch, slicer, cost), batch.shape, cost, schedule);
  }

  /// The packs of each replica, before they are ordered.
  template <class Slicer, class Cost>
  [[nodiscard]] result<std::vector<replica_solution>> packed(const problem& batch, const Slicer& slicer,
                                                             const Cost& cost) const {
    std::vector<double> weight;
    for (const tokens length : batch.lengths) weight.push_back(static_cast<double>(length.value));
    const std::vector<std::uint32_t> replica = balance(weight, static_cast<std::size_t>(batch.shape.replicas));
    std::vector<std::vector<sequence>> groups(static_cast<std::size_t>(batch.shape.replicas));
    for (const sequence& s : batch.batch().sequences()) groups[replica[s.id.value]].push_back(s);
    std::vector<replica_solution> found;
    for (const std::vector<sequence>& group : groups) {
      replica_solution r;
      for (const sequence& s : group) r.sequences.push_back(s.id);
      for (const pass p : both_passes) {
        const cut_budget base{{}, std::max(chunk, batch.shape.quantum), batch.shape.quantum, 0, true};
        const auto unlimited = [](seconds) { return seconds{std::numeric_limits<double>::infinity()}; };
        const auto together = [](const sequence&) { return false; };
        micropacks& packs = r.partition.of(p);
        if (result<void> filled = detail::fill(packs, group, p, slicer, cost, base, unlimited, together); !filled)
          return std::move(filled).error();
      }
      found.push_back(std::move(r));
    }
    return found;
  }

  constexpr void share_by(exchange_set) noexcept {}  // it lets none share

  friend constexpr bool operator==(const chunked&, const chunked&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const chunked& s) {
    return out << "solvers::chunked{.chunk = {" << s.chunk.value << "}}";
  }
};

}  // namespace slimpack::solvers

namespace slimpack::baselines {

/// Chunks of equal tokens, filled to the last quantum, under 1F1B with a lead of 2.
[[nodiscard]] constexpr auto chunked(const shape& /*on*/, tokens chunk = {8192}) {
  return recipe<slicers::equal_cost, solvers::chunked, schedules::one_f_one_b>{{}, {chunk}, {.lead = 2}};
}

}  // namespace slimpack::baselines

#endif
