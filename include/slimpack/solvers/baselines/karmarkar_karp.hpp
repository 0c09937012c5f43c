#ifndef SLIMPACK_SOLVERS_BASELINES_KARMARKAR_KARP_HPP
#define SLIMPACK_SOLVERS_BASELINES_KARMARKAR_KARP_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/solvers/baselines/recipe.hpp>
#include <slimpack/solvers/detail/put_in_order.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/pack/sequence_bins.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Largest differencing (Karmarkar and Karp, 1982) into `bins` subsets: the two partial solutions with the widest
/// spread are merged, heaviest subset with lightest, until one is left. Empty subsets are not stored.
/// Shapes    returns at most `bins` subsets of item indices, heaviest first
/// Complexity O(n (log^2 n + bins)), n items: of two partial solutions, and of two subsets, the smaller moves into the
/// larger
inline std::vector<std::vector<std::uint32_t>> largest_differencing(std::span<const double> weight, std::size_t bins) {
  struct subset {
    double sum;
    std::vector<std::uint32_t> items;
    bool operator<(const subset& lighter) const { return sum > lighter.sum; }
  };
  using partial = std::vector<subset>;  // heaviest first
  std::vector<partial> pool(weight.size());
  using key = std::pair<double, std::int64_t>;  // widest first, then the one that holds the earliest item
  std::vector<key> widest;                      // a heap
  const auto push = [&](key one) {
    widest.push_back(one);
    std::push_heap(widest.begin(), widest.end());
  };
  for (std::uint32_t i = 0; i < weight.size(); ++i) {
    pool[i].push_back({weight[i], {i}});
    push({weight[i], -std::int64_t{i}});
  }
  if (pool.empty()) return {};
  while (widest.size() > 1) {
    const auto pop = [&] {
      std::pop_heap(widest.begin(), widest.end());
      const auto at = static_cast<std::size_t>(-widest.back().second);
      widest.pop_back();
      return at;
    };
    const std::size_t kept = pop();
    const std::size_t gone = pop();
    partial& a = pool[std::min(kept, gone)];
    partial& b = pool[std::max(kept, gone)];
    if (a.size() < b.size()) std::swap(a, b);
    // a[k] meets b[bins - 1 - k], so only the lighter ends meet; the heavier subsets of b stay as they are.
    std::size_t free = bins - a.size();
    for (subset& other : b) {
      if (free > 0) {
        --free;
        continue;
      }
      subset& own = a.back();
      if (own.items.size() > other.items.size()) std::swap(own.items, other.items);
      other.sum += own.sum;
      other.items.insert(other.items.end(), own.items.begin(), own.items.end());
      a.pop_back();
    }
    for (subset& met : b) a.insert(std::upper_bound(a.begin(), a.end(), met), std::move(met));
    b.clear();
    const double spread = a.front().sum - (a.size() < bins ? 0.0 : a.back().sum);
    push({spread, -static_cast<std::int64_t>(std::min(kept, gone))});
  }
  std::vector<std::vector<std::uint32_t>> out;
  for (subset& one : pool.front()) out.push_back(std::move(one.items));
  return out;
}

}  // namespace slimpack::detail

namespace slimpack::solvers {

/// Baseline: what verl and OpenRLHF do. Whole sequences balanced by cost over replicas, and inside a replica over the
/// fewest micro-batches that keep the token limit, both by Karmarkar-Karp differencing; the same packs forward and
/// backward.
/// Source    N. Karmarkar and R. M. Karp, 1982 (largest differencing); micro-batch count by tokens as verl chooses it,
///           but the limit is kept
/// Errors    invalid_input: a sequence longer than the context; those of the schedule
/// Complexity O(tries * n log n), tries <= log of the sequences of a replica
struct karmarkar_karp {
  tokens context{0};  ///< tokens of a micro-batch; 0: the batch's longest sequence

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    return detail::put_in_order(packed(batch, slicer, cost), batch.shape, cost, schedule);
  }

  /// The packs of each replica, before they are ordered.
  template <class Slicer, class Cost>
  [[nodiscard]] result<std::vector<replica_solution>> packed(const problem& batch, const Slicer& /*never cuts*/,
                                                             const Cost& cost) const {
    const result<tokens> limit = detail::pack_limit(batch, context);
    if (!limit) return limit.error();
    const std::vector<sequence> all = batch.batch().sequences();
    const int part = busiest_part(cost, all, batch.shape.parts());
    const auto work = [&](const sequence& s) {
      const slice whole = s.whole();
      return (cost.time(whole, pass::forward, part) + cost.time(whole, pass::backward, part)).value;
    };
    std::vector<std::vector<detail::sequence_bin>> replicas;
    for (const detail::sequence_bin& own : split(all, static_cast<std::size_t>(batch.shape.replicas), work))
      replicas.push_back(micro_batches(own, limit.value(), work));
    return detail::symmetric(replicas);
  }

  constexpr void share_by(exchange_set) noexcept {}  // it lets none share

  friend constexpr bool operator==(const karmarkar_karp&, const karmarkar_karp&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const karmarkar_karp& s) {
    return out << "solvers::karmarkar_karp{.context = {" << s.context.value << "}}";
  }

 private:
  template <class Work>
  static std::vector<detail::sequence_bin> split(std::span<const sequence> items, std::size_t bins, const Work& work) {
    std::vector<double> weight;
    for (const sequence& s : items) weight.push_back(work(s));
    std::vector<detail::sequence_bin> packs(bins);
    std::size_t bin = 0;
    for (const std::vector<std::uint32_t>& subset : detail::largest_differencing(weight, bins)) {
      for (const std::uint32_t i : subset) packs[bin].push_back(items[i]);
      ++bin;
    }
    return packs;
  }

  template <class Work>
  static std::vector<detail::sequence_bin> micro_batches(const detail::sequence_bin& own, tokens limit,
                                                         const Work& work) {
    if (own.empty()) return {};
    auto count = static_cast<std::size_t>((detail::size_of(own).value + limit.value - 1) / limit.value);
    for (;; count += std::max<std::size_t>(1, count / 16)) {
      std::vector<detail::sequence_bin> packs = split(own, std::min(count, own.size()), work);
      const bool fit =
          std::all_of(packs.begin(), packs.end(), [&](const auto& p) { return detail::size_of(p) <= limit; });
      if (fit) return packs;  // at the latest with one sequence in each
    }
  }
};

}  // namespace slimpack::solvers

namespace slimpack::baselines {

/// Whole sequences in packs of equal work by differencing, under 1F1B.
/// context: tokens of a pack; 0: the batch's longest sequence
[[nodiscard]] constexpr auto karmarkar_karp(const shape& on, tokens context = {}) {
  return recipe<slicers::whole, solvers::karmarkar_karp, schedules::one_f_one_b>{{}, {context}, classic(on)};
}

}  // namespace slimpack::baselines

#endif
