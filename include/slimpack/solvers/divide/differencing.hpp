#ifndef SLIMPACK_SOLVERS_DIVIDE_DIFFERENCING_HPP
#define SLIMPACK_SOLVERS_DIVIDE_DIFFERENCING_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Largest differencing (Karmarkar and Karp, 1982) into `bins` subsets: the two partial solutions with the widest
/// spread are merged, heaviest subset with lightest, until one is left. Empty subsets are not stored.
/// Shapes    returns at most `bins` subsets of item indices, heaviest first
/// Complexity O(n log^2 n), n items: of two partial solutions, and of two subsets, the smaller moves into the larger
inline std::vector<std::vector<std::uint32_t>> largest_differencing(std::span<const double> weight, std::size_t bins) {
  struct subset {
    double sum;
    std::vector<std::uint32_t> items;
    bool operator<(const subset& lighter) const { return sum > lighter.sum; }
  };
  using partial = std::multiset<subset>;  // heaviest first
  std::vector<partial> pool(weight.size());
  using key = std::pair<double, std::int64_t>;  // widest first, then the one that holds the earliest item
  std::vector<key> widest;  // a heap
  const auto push = [&](key one) {
    widest.push_back(one);
    std::push_heap(widest.begin(), widest.end());
  };
  for (std::uint32_t i = 0; i < weight.size(); ++i) {
    pool[i].insert({weight[i], {i}});
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
    std::vector<partial::node_type> met;
    for (std::size_t free = bins - a.size(); !b.empty();) {
      partial::node_type other = b.extract(b.begin());
      if (free > 0) {
        --free;
      } else {
        partial::node_type own = a.extract(std::prev(a.end()));
        if (own.value().items.size() > other.value().items.size()) std::swap(own.value().items, other.value().items);
        other.value().sum += own.value().sum;
        other.value().items.insert(other.value().items.end(), own.value().items.begin(), own.value().items.end());
      }
      met.push_back(std::move(other));
    }
    for (partial::node_type& n : met) a.insert(std::move(n));
    const double spread = a.begin()->sum - (a.size() < bins ? 0.0 : std::prev(a.end())->sum);
    push({spread, -static_cast<std::int64_t>(std::min(kept, gone))});
  }
  std::vector<std::vector<std::uint32_t>> out;
  for (partial& whole = pool.front(); !whole.empty();)
    out.push_back(std::move(whole.extract(whole.begin()).value().items));
  return out;
}

}  // namespace slimpack::detail

#endif
