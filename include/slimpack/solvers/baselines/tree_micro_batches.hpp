#ifndef SLIMPACK_SOLVERS_BASELINES_TREE_MICRO_BATCHES_HPP
#define SLIMPACK_SOLVERS_BASELINES_TREE_MICRO_BATCHES_HPP

#include <slimpack/core/detail/indices.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest_cut.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/order/detail/local_ids.hpp>
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
#include <utility>
#include <vector>

namespace slimpack::solvers {

/// Baseline: what trainers with a tree attention do. Samples share what they have in common inside one micro-batch, and
/// nothing beyond it: trees are cut into parts with their paths, as large as a micro-batch, which are packed into
/// micro-batches first-fit decreasing and dealt to replicas by their work; the same packs forward and backward. A path
/// that is longer than a micro-batch has one of its own. Micro-batches with less work run first and last.
/// Source    tree attention of AReaL and verl, and OpenPipe's shared-prefix packing: sharing inside a micro-batch
///           alone. Which parts, the deal by work and the order are derived: the best that was found for them
/// Errors    those of the schedule
/// Complexity O(n log n + parts^2)
struct tree_micro_batches {
  static constexpr bool plans_prefixes = true;

  tokens context{0};  ///< tokens of a micro-batch; 0: the batch's longest path
  bool at_forks{};    ///< parts are cut at the highest forks; else they are as many leaves in a row as fit

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    const result<std::vector<memory_rates>> rates = rates_of(cost, batch.shape);
    if (!rates) return rates.error();
    result<solution> found = packed(batch, slicer, cost);
    if (!found) return found;
    for (replica_solution& r : found.value().replicas)
      if (result<void> ordered =
              detail::put_in_order(r, batch.shape, cost, rates.value(), schedule, found.value().cut->parents);
          !ordered)
        return std::move(ordered).error();
    return found;
  }

  /// The packs of each replica, without an order.
  template <class Slicer, class Cost>
  [[nodiscard]] result<solution> packed(const problem& batch, const Slicer& /*never cuts*/, const Cost& cost) const {
    const tokens limit = context == tokens{} ? batch.batch().longest() : context;
    const std::vector<sequence> all = batch.batch().sequences();
    std::vector<double> sizes;
    for (const sequence& s : all) sizes.push_back(static_cast<double>(s.length.value));
    solution found;
    const divide::forest_cuts by(all, all, sizes);
    const auto size = static_cast<double>(limit.value);
    found.cut = at_forks ? by.by_subtrees(size) : by.by_size(size);
    const std::vector<micro_batch> packs = first_fit(trees_of(*found.cut), limit);
    const int stage = busiest_stage(cost, all, batch.shape);
    std::vector<double> work;
    for (const micro_batch& pack : packs) {
      double& sum = work.emplace_back();
      for (const sequence& s : pack) sum += stage_time(cost, s.whole(), stage, batch.shape).value;
    }
    const std::vector<std::uint32_t> replica_of = balance(work, static_cast<std::size_t>(batch.shape.replicas));
    found.replicas.resize(static_cast<std::size_t>(batch.shape.replicas));
    for (const std::size_t i : in_order(work)) add(packs[i], found.replicas[replica_of[i]]);
    return found;
  }

  constexpr void share_by(exchange_set) noexcept {}  // it lets none share

  friend constexpr bool operator==(const tree_micro_batches&, const tree_micro_batches&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                                      const tree_micro_batches& s) {
    return out << "solvers::tree_micro_batches{.context = {" << s.context.value << "}, .at_forks = " << s.at_forks
               << "}";
  }

 private:
  using micro_batch = std::vector<sequence>;  // parents before children

  /// The sequences of each tree.
  [[nodiscard]] static std::vector<micro_batch> trees_of(const forest_cut& cut) {
    std::vector<sequence> all = batch_view(cut).sequences();
    const std::vector<std::uint32_t> root = slimpack::detail::roots_of(all);
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
  [[nodiscard]] static std::vector<micro_batch> first_fit(const std::vector<micro_batch>& trees, tokens limit) {
    std::vector<sequence> items;
    std::vector<micro_batch> packs;
    for (std::uint32_t i = 0; i < trees.size(); ++i) {
      const tokens size = detail::size_of(trees[i]);
      if (size > limit)
        packs.push_back(trees[i]);
      else
        items.push_back({{i}, size});
    }
    if (items.empty()) return packs;
    for (const detail::sequence_bin& bin : detail::first_fit_decreasing(std::move(items), limit)) {
      micro_batch& pack = packs.emplace_back();
      for (const sequence& item : bin)
        pack.insert(pack.end(), trees[item.id.value].begin(), trees[item.id.value].end());
    }
    return packs;
  }

  /// The least work at both ends.
  [[nodiscard]] static std::vector<std::size_t> in_order(const std::vector<double>& work) {
    auto rising = slimpack::detail::indices<std::size_t>(work.size());
    std::stable_sort(rising.begin(), rising.end(), [&](std::size_t a, std::size_t b) { return work[a] < work[b]; });
    std::vector<std::size_t> order, after;
    for (std::size_t i = 0; i < rising.size(); ++i) (i % 2 == 0 ? order : after).push_back(rising[i]);
    order.insert(order.end(), after.rbegin(), after.rend());
    return order;
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

/// The micro-batches that are tried where tree_micro_batches is tuned, with parts of either kind.
/// Formula   from a quarter of the longest path to an even share of the batch's tokens for each replica, in steps of
///           2^(1/4); derived: where a step is shortest, steps twice as fine differ by less than 1 %
/// Units     tokens, strictly rising            Complexity  O(sequences)
[[nodiscard]] inline std::vector<tokens> micro_batch_lengths(const batch_view& batch, int replicas) {
  tokens all{};
  for (const tokens length : batch.lengths()) all += length;
  const auto most = std::max<std::int64_t>(all.value / replicas, batch.longest().value);
  std::vector<tokens> found;
  for (double size = std::max(1.0, static_cast<double>(batch.longest().value) / 4);
       size < static_cast<double>(most) * 1.2; size *= 1.189207115002721)
    if (const tokens next{static_cast<std::int64_t>(size)}; found.empty() || next > found.back()) found.push_back(next);
  return found;
}

/// Trees that share inside a micro-batch of the context alone, under 1F1B.
/// context, at_forks: those of the solver
[[nodiscard]] constexpr auto tree_micro_batches(const shape& on, tokens context = {}, bool at_forks = {}) {
  return recipe<slicers::whole, solvers::tree_micro_batches, schedules::one_f_one_b>{
      {}, {context, at_forks}, classic(on)};
}

}  // namespace slimpack::baselines

#endif
