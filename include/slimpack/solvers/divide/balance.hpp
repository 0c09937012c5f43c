#ifndef SLIMPACK_SOLVERS_DIVIDE_BALANCE_HPP
#define SLIMPACK_SOLVERS_DIVIDE_BALANCE_HPP

#include <slimpack/core/detail/indices.hpp>
#include <slimpack/solvers/divide/detail/lightest_first.hpp>
#include <slimpack/solvers/divide/rebalance.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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
