#ifndef SLIMPACK_SOLVERS_FORWARD_HPP
#define SLIMPACK_SOLVERS_FORWARD_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/simulators/bounds/forward_bounds.hpp>
#include <slimpack/solvers/detail/parallel.hpp>
#include <slimpack/solvers/divide/balance.hpp>
#include <slimpack/solvers/pack/forward_packs.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::solvers {

/// Packs and programs of a batch that runs forward alone: what basic_planner::plan_forward asks, whatever solver and
/// schedule the planner has for steps. Sequences are balanced over replicas by their work on the busiest part, none is
/// shared; then each replica has a search of its own (pack/forward_packs.hpp).
struct forward_search {
  /// Shapes    threads: that search side by side, 0: one per core; the answer does not depend on it; options: what
  ///           tunes the search
  /// Law       equal problems get equal solutions, unless stopped
  /// Errors    out_of_memory, with the shortfall in numbers; invalid_input: those of rates_of
  /// Complexity of a replica, about 100 candidates of O(slices * parts) each; four times as many under a memory limit
  template <class Slicer, class Cost>
  [[nodiscard]] static result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                              std::size_t threads,
                                              const search_options& options = default_search_options) {
    if (result<void> fine = options.check(); !fine) return std::move(fine).error();
    const result<std::vector<memory_rates>> rates = evaluation_rates_of(cost, batch.shape);
    if (!rates) return rates.error();
    const std::vector<sequence> all = sequences_of(batch.lengths);
    int busiest = 0;
    std::vector<double> weight;
    double most = -1;
    for (int part = 0; part < batch.shape.parts(); ++part) {
      std::vector<double> here;
      double sum = 0;
      for (const sequence& s : all)
        sum += here.emplace_back(cost.time({s.id, {0}, s.length}, pass::forward, part).value);
      if (sum > most) most = sum, busiest = part, weight = std::move(here);
    }
    const auto replicas = static_cast<std::size_t>(batch.shape.replicas);
    const std::vector<std::uint32_t> replica_of = balance(weight, replicas);
    std::vector<std::vector<sequence>> groups(replicas);
    for (const sequence& s : all) groups[replica_of[s.id.value]].push_back(s);
    solution found;
    found.replicas.resize(replicas);
    result<void> done = detail::for_each_index(replicas, threads, [&](std::size_t r) -> result<void> {
      if (groups[r].empty()) {  // it runs programs without packs
        found.replicas[r].programs.resize(static_cast<std::size_t>(batch.shape.stages));
        return success();
      }
      detail::forward_packs search(groups[r], batch.shape, slicer, cost, rates.value(), busiest, options);
      result<replica_solution> one = search.best(batch.stop);
      if (!one) return std::move(one).error();
      found.replicas[r] = std::move(one).value();
      return success();
    });
    if (!done) return std::move(done).error();
    return found;
  }

  /// What tunes a solver of steps tunes this search, too; the defaults where the solver has no such options.
  template <class Solver>
  [[nodiscard]] static constexpr const search_options& options_of(const Solver& solver) noexcept {
    if constexpr (requires {
                    { (solver.options) } -> std::same_as<const search_options&>;
                  })
      return solver.options;
    else if constexpr (requires { solver.solver; })  // refined
      return options_of(solver.solver);
    else
      return default_search_options;
  }

  template <class Cost>
  [[nodiscard]] static std::vector<bound> bounds(const Cost& cost, const shape& on, std::span<const sequence> batch) {
    return simulators::forward_bounds(cost, on, batch);
  }

  /// Writes each replica's own bound into the plan.
  template <class Cost>
  static void bound_replicas(plan& p, const Cost& cost) {
    shape alone = p.shape;
    alone.replicas = 1;
    for (replica_plan& r : p.replicas) {
      std::vector<sequence> own;
      for (const sequence_id id : r.sequences) own.push_back({id, p.lengths[id.value]});
      for (const bound& b : bounds(cost, alone, own)) r.lower_bound = std::max(r.lower_bound, b.time);
    }
  }
};

}  // namespace slimpack::solvers

#endif
