#ifndef SLIMPACK_SOLVERS_DIVIDE_DIFFERENCING_HPP
#define SLIMPACK_SOLVERS_DIVIDE_DIFFERENCING_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

#endif
