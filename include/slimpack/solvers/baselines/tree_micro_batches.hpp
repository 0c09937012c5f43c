#ifndef SLIMPACK_SOLVERS_BASELINES_TREE_MICRO_BATCHES_HPP
#define SLIMPACK_SOLVERS_BASELINES_TREE_MICRO_BATCHES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/forest_cut.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/recipe.hpp>
#include <slimpack/solvers/detail/put_in_order.hpp>
#include <slimpack/solvers/divide/balance.hpp>
#include <slimpack/solvers/divide/forest_cuts.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/pack/sequence_bins.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::solvers {

/// Baseline: what trainers with a tree attention do. Samples that follow each other share what they have in common inside
/// one micro-batch, and nothing beyond it: trees are cut into parts with their paths, as large as a micro-batch, which
/// are packed into micro-batches first-fit decreasing and dealt to replicas by their work; the same packs forward and
/// backward.
/// Source    tree attention of AReaL and verl, and OpenPipe's shared-prefix packing: sharing inside a micro-batch alone;
///           parts of leaves that follow each other, and the deal by work, are derived, and the best of what these do
/// Errors    invalid_input: a path that is longer than the context; those of the schedule
/// Complexity O(n log n + parts^2)
struct tree_micro_batches {
  static constexpr bool plans_prefixes = true;

  tokens context{0};  ///< tokens of a micro-batch; 0: the batch's longest path

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& /*never cuts*/, const Cost& cost,
                                       const Schedule& schedule) const {
    const tokens longest = batch.batch().longest();
    const tokens limit = context == tokens{} ? longest : context;
    if (longest > limit)
      return error{errc::invalid_input, "a path of " + std::to_string(longest.value) +
                                            " tokens exceeds the micro-batch of " + std::to_string(limit.value)};
    const result<std::vector<memory_rates>> rates = rates_of(cost, batch.shape);
    if (!rates) return rates.error();
    const std::vector<sequence> all = batch.batch().sequences();
    std::vector<double> sizes;
    for (const sequence& s : all) sizes.push_back(static_cast<double>(s.length.value));
    solution found;
    found.cut = divide::forest_cuts(all, all, sizes).by_size(static_cast<double>(limit.value));
    const std::vector<micro_batch> packs = packed(trees_of(*found.cut), limit);
    const int stage = busiest_stage(cost, all, batch.shape);
    std::vector<double> work;
    for (const micro_batch& pack : packs) {
      double& sum = work.emplace_back();
      for (const sequence& s : pack) sum += stage_time(cost, s.whole(), stage, batch.shape).value;
    }
    const std::vector<std::uint32_t> replica_of = balance(work, static_cast<std::size_t>(batch.shape.replicas));
    found.replicas.resize(static_cast<std::size_t>(batch.shape.replicas));
    for (std::size_t i = 0; i < packs.size(); ++i) add(packs[i], found.replicas[replica_of[i]]);
    for (replica_solution& r : found.replicas)
      if (result<void> ordered =
              detail::put_in_order(r, batch.shape, cost, rates.value(), schedule, found.cut->parents);
          !ordered)
        return std::move(ordered).error();
    return found;
  }

  constexpr void share_by(exchange_set) noexcept {}  // it lets none share

  friend constexpr bool operator==(const tree_micro_batches&, const tree_micro_batches&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                                      const tree_micro_batches& s) {
    return out << "solvers::tree_micro_batches{.context = {" << s.context.value << "}}";
  }

 private:
  using micro_batch = std::vector<sequence>;  // parents before children

  /// The sequences of each tree.
  [[nodiscard]] static std::vector<micro_batch> trees_of(const forest_cut& cut) {
    std::vector<sequence> all = batch_view(cut).sequences();
    std::vector<std::uint32_t> root(all.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      root[i] = i;
      while (!all[root[i]].is_root()) root[i] = all[root[i]].parent.value;
    }
    std::stable_sort(all.begin(), all.end(), [&](const sequence& a, const sequence& b) {
      const std::uint32_t of_a = root[a.id.value], of_b = root[b.id.value];
      return of_a != of_b ? of_a < of_b : a.begin < b.begin;
    });
    std::vector<micro_batch> trees;
    for (const sequence& s : all) {
      if (s.is_root()) trees.emplace_back();
      trees.back().push_back(s);
    }
    return trees;
  }

  /// First-fit decreasing, a tree being as large as all that it holds.
  [[nodiscard]] static std::vector<micro_batch> packed(const std::vector<micro_batch>& trees, tokens limit) {
    std::vector<sequence> items;
    for (const micro_batch& tree : trees)
      items.push_back({{static_cast<std::uint32_t>(items.size())}, detail::size_of(tree)});
    std::vector<micro_batch> packs;
    for (const detail::sequence_bin& bin : detail::first_fit_decreasing(std::move(items), limit)) {
      micro_batch& pack = packs.emplace_back();
      for (const sequence& item : bin)
        pack.insert(pack.end(), trees[item.id.value].begin(), trees[item.id.value].end());
    }
    return packs;
  }

  static void add(const micro_batch& pack, replica_solution& to) {
    for (const sequence& s : pack) {
      to.sequences.push_back(s.id);
      to.partition.forward.push(s.whole());
    }
    for (auto s = pack.rbegin(); s != pack.rend(); ++s) to.partition.backward.push(s->whole());
    to.partition.forward.close(), to.partition.backward.close();
  }
};

}  // namespace slimpack::solvers

namespace slimpack::baselines {

/// Trees that share inside a micro-batch of the context alone, under 1F1B.
/// context: tokens of a micro-batch; 0: the batch's longest path
[[nodiscard]] constexpr auto tree_micro_batches(const shape& on, tokens context = {}) {
  return recipe<slicers::whole, solvers::tree_micro_batches, schedules::one_f_one_b>{{}, {context}, classic(on)};
}

}  // namespace slimpack::baselines

#endif
