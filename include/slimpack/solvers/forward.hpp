#ifndef SLIMPACK_SOLVERS_FORWARD_HPP
#define SLIMPACK_SOLVERS_FORWARD_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/forest_cut.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/order/detail/local_ids.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/simulators/bounds/forward_bounds.hpp>
#include <slimpack/solvers/detail/parallel.hpp>
#include <slimpack/solvers/divide/balance.hpp>
#include <slimpack/solvers/divide/cut_contest.hpp>
#include <slimpack/solvers/divide/forest_cuts.hpp>
#include <slimpack/solvers/pack/forward_packs.hpp>
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
/// shared, and samples that share beginnings stay together; then each replica has a search of its own
/// (pack/forward_packs.hpp).
/// Cuts      where samples share beginnings and there are several replicas, paths may be cut, so that each replica can
///           have a part of a tree: no tree; those of more than a replica's mean work, a half, a quarter and an eighth
///           of it, alike or at their highest forks (divide/forest_cuts.hpp); all, so that samples share nothing. Those
///           whose busiest replica has the least to do are searched, and the one that ends first is taken
/// Law       not slower than what it finds where samples share nothing
struct forward_search {
  /// Shapes    threads: that search side by side, 0: one per core; the answer does not depend on it; options: what
  ///           tunes the search
  /// Law       equal problems get equal solutions, unless stopped
  /// Errors    out_of_memory, with the shortfall in numbers; invalid_input: those of rates_of
  /// Complexity of a replica, about 100 candidates of O(slices * parts) each; four times as many under a memory limit;
  ///           for each of the cuts that are searched
  template <class Slicer, class Cost>
  [[nodiscard]] static result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                              std::size_t threads,
                                              const search_options& options = default_search_options) {
    if (result<void> fine = options.check(); !fine) return std::move(fine).error();
    const result<std::vector<memory_rates>> rates = evaluation_rates_of(cost, batch.shape);
    if (!rates) return rates.error();
    const int busiest = busiest_forward(cost, batch.batch().sequences(), batch.shape.parts());
    const auto searched = [&](const problem& one) {
      return each_searched(one, divided(one, cost, busiest).groups, slicer, cost, rates.value(), busiest, threads,
                           options);
    };
    result<divide::timed_solution> found = batch.shape.replicas == 1 || !batch.batch().shares_prefixes()
                                               ? searched(batch)
                                               : cuts_of(batch, cost, busiest).first_to_end(searched);
    if (!found) return std::move(found).error();
    return std::move(found).value().solution;
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
    const std::vector<sequence> all = batch_of(p).sequences();
    for (replica_plan& r : p.replicas) {
      std::vector<sequence> own;
      for (const sequence_id id : r.sequences) own.push_back(all[id.value]);
      if (!p.parents.empty())  // parents before their children
        std::stable_sort(own.begin(), own.end(),
                         [](const sequence& a, const sequence& b) { return a.begin < b.begin; });
      for (const bound& b : bounds(cost, alone, own)) r.lower_bound = std::max(r.lower_bound, b.time);
    }
  }

 private:
  /// Whole trees on replicas.
  struct division {
    std::vector<std::vector<sequence>> groups;  // of each replica, ascending
    seconds most{};                             // that one of them has to do on the busiest part
  };

  /// The part with the most work forward.
  template <class Cost>
  [[nodiscard]] static int busiest_forward(const Cost& cost, std::span<const sequence> all, int parts) {
    int busiest = 0;
    double most = -1;
    for (int part = 0; part < parts; ++part) {
      double sum = 0;
      for (const sequence& s : all) sum += cost.time(s.whole(), pass::forward, part).value;
      if (sum > most) most = sum, busiest = part;
    }
    return busiest;
  }

  template <class Cost>
  [[nodiscard]] static division divided(const problem& batch, const Cost& cost, int part) {
    const std::vector<sequence> all = batch.batch().sequences();
    const auto replicas = static_cast<std::size_t>(batch.shape.replicas);
    const std::vector<std::uint32_t> root = detail::roots_of(all);
    std::vector<std::uint32_t> tree(all.size());  // of roots
    std::vector<double> work;                     // of each tree
    for (const sequence& s : all)
      if (s.is_root()) tree[s.id.value] = static_cast<std::uint32_t>(work.size()), work.push_back(0);
    for (const sequence& s : all) work[tree[root[s.id.value]]] += cost.time(s.whole(), pass::forward, part).value;
    const std::vector<std::uint32_t> replica_of = balance(work, replicas);
    division made{std::vector<std::vector<sequence>>(replicas)};
    for (const sequence& s : all) made.groups[replica_of[tree[root[s.id.value]]]].push_back(s);
    std::vector<double> sums(replicas);
    for (std::size_t t = 0; t < work.size(); ++t) sums[replica_of[t]] += work[t];
    made.most = {*std::max_element(sums.begin(), sums.end())};
    return made;
  }

  /// Cuts worth trying.
  template <class Cost>
  [[nodiscard]] static divide::cut_contest cuts_of(const problem& batch, const Cost& cost, int part) {
    const std::vector<sequence> all = batch.batch().sequences();
    std::vector<double> work;
    double sum = 0;
    for (const sequence& s : all) sum += work.emplace_back(cost.time(s.whole(), pass::forward, part).value);
    const divide::forest_cuts by(all, all, work);
    divide::cut_contest made(batch);
    const auto enter = [&](forest_cut cut, bool is_flat = false) {
      made.enter(std::move(cut), is_flat,
                 [&](const problem& one) -> result<seconds> { return divided(one, cost, part).most; });
    };
    enter(by.by_work(sum));
    by.each_for(sum / batch.shape.replicas, enter);
    enter(by.flat(), true);
    return made;
  }

  /// Searches the packs of each replica.
  template <class Slicer, class Cost>
  [[nodiscard]] static result<divide::timed_solution> each_searched(
      const problem& batch, const std::vector<std::vector<sequence>>& groups, const Slicer& slicer, const Cost& cost,
      std::span<const memory_rates> rates, int busiest, std::size_t threads, const search_options& options) {
    solution found;
    found.replicas.resize(groups.size());
    std::vector<seconds> ends(groups.size());
    const std::span<const sequence_id> parents =
        batch.batch().shares_prefixes() ? batch.parents : std::span<const sequence_id>{};
    result<void> done = detail::for_each_index(groups.size(), threads, [&](std::size_t r) -> result<void> {
      if (groups[r].empty()) {  // it runs programs without packs
        found.replicas[r].programs.resize(static_cast<std::size_t>(batch.shape.stages));
        return success();
      }
      detail::forward_packs search(groups[r], parents, batch.shape, slicer, cost, rates, busiest, options);
      result<replica_solution> one = search.best(batch.stop, ends[r]);
      if (!one) return std::move(one).error();
      found.replicas[r] = std::move(one).value();
      return success();
    });
    if (!done) return std::move(done).error();
    return divide::timed_solution{std::move(found), *std::max_element(ends.begin(), ends.end())};
  }
};

}  // namespace slimpack::solvers

#endif
