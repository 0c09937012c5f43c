#ifndef SLIMPACK_BENCHMARKS_PLAN_QUALITY_FLAT_HPP
#define SLIMPACK_BENCHMARKS_PLAN_QUALITY_FLAT_HPP

#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/solvers/detail/put_in_order.hpp>
#include <slimpack/solvers/pack/fill.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace slimpack::plan_quality {

/// Cuts a sequence only if no pack would hold it whole: it then begins a pack of its own. Two passes can share the
/// packs of such slices without holding more than one cut sequence at once.
template <class Slicer>
struct begins_anew {
  Slicer slicer{};

  template <class Cost>
  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, const cut_budget& left, const Cost& cost) const {
    const bool begins = at == (p == pass::forward ? tokens{} : s.length);
    const slice cut = slicer.next(s, at, p, left, cost);
    return begins && !left.empty && cut.length < s.length ? slice{s.id, at, {}} : cut;
  }
};

/// Packs of equal work all along a step, sequences in order of length: what a planner without ramps and search does.
/// Requires  one replica
/// Errors    out_of_memory: those of the schedule
struct flat {
  std::size_t forward{64};  ///< packs, about
  std::size_t backward{0};  ///< packs, about; 0: the forward packs, those that share a sequence in reverse

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    result<std::vector<memory_rates>> rates = rates_of(cost, batch.shape);
    if (!rates) return std::move(rates).error();
    std::vector<sequence> order = solvers::sequences_of(batch.lengths);
    std::stable_sort(order.begin(), order.end(),
                     [](const sequence& a, const sequence& b) { return a.length < b.length; });
    replica_solution r;
    for (const sequence& s : order) r.sequences.push_back(s.id);
    result<void> filled = fill(r.partition.forward, order, pass::forward, forward, batch, slicer, cost);
    if (filled && backward > 0)
      filled = fill(r.partition.backward, order, pass::backward, backward, batch, slicer, cost);
    if (!filled) return std::move(filled).error();
    if (backward == 0) r.partition.backward = turned(r.partition.forward);
    if (result<void> ordered = slimpack::detail::put_in_order(r, batch.shape, cost, rates.value(), schedule); !ordered)
      return std::move(ordered).error();
    solution found;
    found.replicas.push_back(std::move(r));
    return found;
  }

 private:
  /// Where a sequence is cut, its turn shares no pack with a longer one, or both would be held at once.
  template <class Slicer, class Cost>
  static result<void> fill(micropacks& packs, const std::vector<sequence>& order, pass p, std::size_t count,
                           const problem& batch, const Slicer& slicer, const Cost& cost) {
    const int part = solvers::busiest_part(cost, order, batch.shape.parts());
    const auto time_of = [&](const sequence& s) { return cost.time(slice{s.id, {0}, s.length}, p, part); };
    seconds budget{};
    for (const sequence& s : order) budget += time_of(s) * (1.0 / static_cast<double>(count));
    const auto room = batch.shape.memory && batch.shape.memory->unit == memory_unit::token
                          ? static_cast<std::int64_t>(batch.shape.memory->amount)
                          : std::numeric_limits<std::int64_t>::max();
    return slimpack::detail::fill(
        packs, order, p, slicer, cost, {{}, {room}, batch.shape.quantum, part, true}, [&](seconds) { return budget; },
        [&](const sequence& s) { return time_of(s) > budget; });
  }

  /// The same packs for backward: a run of packs that hang together by sequences they share is reversed.
  static micropacks turned(const micropacks& forward) {
    micropacks packs;
    for (std::size_t first = 0, end = 0; first < forward.size(); first = end) {
      for (end = first + 1; end < forward.size() && forward[end - 1].back().sequence == forward[end].front().sequence;)
        ++end;
      for (std::size_t i = end; i-- > first;) {
        for (const slice& s : forward[i]) packs.push(s);
        packs.close();
      }
    }
    return packs;
  }
};

}  // namespace slimpack::plan_quality

#endif
