#ifndef SLIMPACK_SOLVERS_DIVIDE_REBALANCE_HPP
#define SLIMPACK_SOLVERS_DIVIDE_REBALANCE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::detail {

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

#endif
