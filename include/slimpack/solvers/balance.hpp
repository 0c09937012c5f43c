#ifndef SLIMPACK_SOLVERS_BALANCE_HPP
#define SLIMPACK_SOLVERS_BALANCE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::solvers {

/// Assigns items to bins so that the heaviest bin is light: largest first onto the lightest bin, then moves and swaps
/// out of the heaviest bin while they lower it.
/// Source    LPT (R. L. Graham, 1969: within 4/3 of the best) with the usual exchange neighbourhood
/// Shapes    weight: one per item; loads: what each bin holds before; returns the bin of each item
/// Law       equal weights are taken in index order, so equal inputs give equal answers
/// Errors    none            Complexity  O(n log n + rounds * n), at most `rounds` exchanges
[[nodiscard]] inline std::vector<std::uint32_t> balance(std::span<const double> weight, std::vector<double> loads,
                                                        std::size_t rounds = 1000) {
  const std::size_t bins = loads.size();
  std::vector<std::uint32_t> order(weight.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return weight[a] > weight[b]; });
  using load = std::pair<double, std::uint32_t>;
  std::priority_queue<load, std::vector<load>, std::greater<>> lightest;
  for (std::uint32_t b = 0; b < bins; ++b) lightest.push({loads[b], b});
  std::vector<std::uint32_t> bin_of(weight.size());
  std::vector<std::vector<std::uint32_t>> items(bins);
  for (const std::uint32_t i : order) {
    const std::uint32_t b = lightest.top().second;
    lightest.pop();
    items[b].push_back(i);
    loads[b] += weight[i];
    lightest.push({loads[b], b});
  }
  while (rounds-- > 0) {
    const auto heavy = static_cast<std::size_t>(std::max_element(loads.begin(), loads.end()) - loads.begin());
    const auto light = static_cast<std::size_t>(std::min_element(loads.begin(), loads.end()) - loads.begin());
    const double gap = loads[heavy] - loads[light];
    // The exchange whose shift is closest to half the gap; nothing for an item is a move. Both bins are kept
    // sorted by falling weight, so the partner of each item is found by bisection.
    std::size_t give = 0;
    std::size_t take = 0;
    double best = 0;
    for (std::size_t g = 0; g < items[heavy].size(); ++g) {
      const double w = weight[items[heavy][g]];
      const double wanted = w - gap / 2;
      const auto& others = items[light];
      auto at = static_cast<std::size_t>(std::lower_bound(others.begin(), others.end(), wanted,
                                                          [&](std::uint32_t i, double x) { return weight[i] > x; }) -
                                         others.begin());
      for (const std::size_t t : {at, at == 0 ? others.size() : at - 1, others.size()}) {
        const double shift = w - (t < others.size() ? weight[others[t]] : 0.0);
        const double gain = std::min(shift, gap - shift);
        if (gain > best) best = gain, give = g, take = t;
      }
    }
    if (best <= gap * 1e-6) break;
    const std::uint32_t given = items[heavy][give];
    items[heavy].erase(items[heavy].begin() + static_cast<std::ptrdiff_t>(give));
    loads[heavy] -= weight[given], loads[light] += weight[given];
    const auto insert = [&](std::vector<std::uint32_t>& bin, std::uint32_t i) {
      bin.insert(std::lower_bound(bin.begin(), bin.end(), i, [&](std::uint32_t a, std::uint32_t b) {
                   return weight[a] != weight[b] ? weight[a] > weight[b] : a < b;
                 }), i);
    };
    if (take < items[light].size()) {
      const std::uint32_t taken = items[light][take];
      items[light].erase(items[light].begin() + static_cast<std::ptrdiff_t>(take));
      loads[light] -= weight[taken], loads[heavy] += weight[taken];
      insert(items[heavy], taken);
    }
    insert(items[light], given);
  }
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
