#ifndef SLIMPACK_SOLVERS_DIVIDE_BALANCE_HPP
#define SLIMPACK_SOLVERS_DIVIDE_BALANCE_HPP

#include <slimpack/core/detail/indices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Bins by load, the first of equal ones before the others. A heap over a vector: std::priority_queue would bring
/// <deque> into every program that includes the planner, as std::greater would <functional>.
class lightest_first {
 public:
  using bin = std::pair<double, std::uint32_t>;  // load, number

  explicit lightest_first(std::span<const double> loads) {
    for (std::uint32_t b = 0; b < loads.size(); ++b) heap_.emplace_back(loads[b], b);
    std::make_heap(heap_.begin(), heap_.end(), heavier);
  }
  [[nodiscard]] const bin& top() const noexcept { return heap_.front(); }
  /// Gives the first another load.
  void reload(double load) {
    std::pop_heap(heap_.begin(), heap_.end(), heavier);
    heap_.back().first = load;
    std::push_heap(heap_.begin(), heap_.end(), heavier);
  }

 private:
  static constexpr bool heavier(const bin& a, const bin& b) noexcept { return a > b; }

  std::vector<bin> heap_;
};

/// Levels bins: the heaviest gives the lightest an item, or swaps one with it, while that lowers it and they are more
/// than `enough` apart.
/// Source    the usual neighbourhood of moves and swaps
/// Shapes    weight: one per item; items: of each bin, by falling weight, equal ones in index order; loads: of each
///           bin, with what it holds besides; share: of an item's weight that loads each bin, none: all of it
/// Law       items stay so sorted            Complexity  O(rounds * n), at most `rounds` moves and swaps
inline void rebalance(std::span<const double> weight, std::vector<std::vector<std::uint32_t>>& items,
                      std::vector<double>& loads, std::size_t rounds, double enough = 0,
                      std::span<const double> share = {}) {
  const auto share_of = [&](std::size_t bin) { return share.empty() ? 1.0 : share[bin]; };
  while (rounds-- > 0) {
    const auto heavy = static_cast<std::size_t>(std::max_element(loads.begin(), loads.end()) - loads.begin());
    const auto light = static_cast<std::size_t>(std::min_element(loads.begin(), loads.end()) - loads.begin());
    const double gap = loads[heavy] - loads[light];
    if (gap <= enough) break;
    const double gives = share_of(heavy);
    const double takes = share_of(light);
    // The swap whose shift is closest to what makes both alike; nothing for an item is a move. Both bins are kept
    // sorted by falling weight, so the partner of each item is found by bisection.
    std::size_t give = 0;
    std::size_t take = 0;
    double best = 0;
    for (std::size_t g = 0; g < items[heavy].size(); ++g) {
      const double w = weight[items[heavy][g]];
      const double wanted = w - gap / (gives + takes);
      const auto& others = items[light];
      auto at = static_cast<std::size_t>(std::lower_bound(others.begin(), others.end(), wanted,
                                                          [&](std::uint32_t i, double x) { return weight[i] > x; }) -
                                         others.begin());
      for (const std::size_t t : {at, at == 0 ? others.size() : at - 1, others.size()}) {
        const double shift = w - (t < others.size() ? weight[others[t]] : 0.0);
        const double gain = std::min(shift * gives, gap - shift * takes);
        if (gain > best) best = gain, give = g, take = t;
      }
    }
    if (best <= gap * 1e-6) break;
    const std::uint32_t given = items[heavy][give];
    items[heavy].erase(items[heavy].begin() + static_cast<std::ptrdiff_t>(give));
    loads[heavy] -= weight[given] * gives, loads[light] += weight[given] * takes;
    const auto insert = [&](std::vector<std::uint32_t>& bin, std::uint32_t i) {
      bin.insert(std::lower_bound(bin.begin(), bin.end(), i,
                                  [&](std::uint32_t a, std::uint32_t b) {
                                    return weight[a] != weight[b] ? weight[a] > weight[b] : a < b;
                                  }),
                 i);
    };
    if (take < items[light].size()) {
      const std::uint32_t taken = items[light][take];
      items[light].erase(items[light].begin() + static_cast<std::ptrdiff_t>(take));
      loads[light] -= weight[taken] * takes, loads[heavy] += weight[taken] * gives;
      insert(items[heavy], taken);
    }
    insert(items[light], given);
  }
}

}  // namespace slimpack::detail

namespace slimpack::solvers {

/// Assigns items to bins so that the heaviest bin is light: largest first onto the lightest bin, then moves and swaps
/// out of the heaviest bin while they lower it.
/// Source    LPT (R. L. Graham, 1969: within 4/3 of the best) with the usual neighbourhood of moves and swaps
/// Shapes    weight: one per item; loads: what each bin holds before; returns the bin of each item
/// Law       equal weights are taken in index order, so equal inputs give equal answers
/// Errors    none            Complexity  O(n log n + rounds * n), at most `rounds` moves and swaps
[[nodiscard]] inline std::vector<std::uint32_t> balance(std::span<const double> weight, std::vector<double> loads,
                                                        std::size_t rounds = 1000) {
  const std::size_t bins = loads.size();
  auto order = slimpack::detail::indices<std::uint32_t>(weight.size());
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return weight[a] > weight[b]; });
  detail::lightest_first lightest(loads);
  std::vector<std::uint32_t> bin_of(weight.size());
  std::vector<std::vector<std::uint32_t>> items(bins);
  for (const std::uint32_t i : order) {
    const std::uint32_t b = lightest.top().second;
    items[b].push_back(i);
    loads[b] += weight[i];
    lightest.reload(loads[b]);
  }
  detail::rebalance(weight, items, loads, rounds);
  for (std::uint32_t b = 0; b < bins; ++b)
    for (const std::uint32_t i : items[b]) bin_of[i] = b;
  return bin_of;
}

/// The same with empty bins.
[[nodiscard]] inline std::vector<std::uint32_t> balance(std::span<const double> weight, std::size_t bins,
                                                        std::size_t rounds = 1000) {
  return balance(weight, std::vector<double>(bins, 0.0), rounds);
}

}  // namespace slimpack::solvers

#endif
