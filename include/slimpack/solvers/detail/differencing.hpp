#ifndef SLIMPACK_SOLVERS_DETAIL_DIFFERENCING_HPP
#define SLIMPACK_SOLVERS_DETAIL_DIFFERENCING_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Largest differencing (Karmarkar and Karp, 1982) into `bins` subsets: the two partial solutions with the widest
/// spread are merged, heaviest subset with lightest, until one is left. Empty subsets are not stored.
/// Shapes    returns at most `bins` subsets of item indices, heaviest first
inline std::vector<std::vector<std::uint32_t>> largest_differencing(std::span<const double> weight, std::size_t bins) {
  struct subset {
    double sum;
    std::vector<std::uint32_t> items;
  };
  struct partial {
    std::vector<subset> subsets;  // heaviest first
    std::uint32_t age;
  };
  const auto spread = [bins](const partial& p) {
    return p.subsets.front().sum - (p.subsets.size() < bins ? 0.0 : p.subsets.back().sum);
  };
  std::vector<partial> pool;
  using key = std::pair<double, std::int64_t>;  // widest first, then oldest
  std::priority_queue<key> widest;
  for (std::uint32_t i = 0; i < weight.size(); ++i) {
    pool.push_back({{{weight[i], {i}}}, i});
    widest.push({weight[i], -std::int64_t{i}});
  }
  if (pool.empty()) return {};
  std::size_t result = 0;
  while (widest.size() > 1) {
    const auto pop = [&] {
      const auto at = static_cast<std::size_t>(-widest.top().second);
      widest.pop();
      return at;
    };
    const std::size_t keep = pop();
    const std::size_t gone = pop();
    std::vector<subset>& a = pool[keep].subsets;
    std::vector<subset>& b = pool[gone].subsets;
    // a[k] meets b[bins - 1 - k]; only the tails overlap.
    const std::size_t held = a.size();
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::size_t partner = bins - 1 - k;
      if (partner < held) {
        a[partner].sum += b[k].sum;
        a[partner].items.insert(a[partner].items.end(), b[k].items.begin(), b[k].items.end());
      } else {
        a.push_back(std::move(b[k]));
      }
    }
    b.clear();
    std::stable_sort(a.begin(), a.end(), [](const subset& x, const subset& y) { return x.sum > y.sum; });
    widest.push({spread(pool[keep]), -static_cast<std::int64_t>(keep)});
    result = keep;
  }
  std::vector<std::vector<std::uint32_t>> out;
  for (subset& s : pool[result].subsets) out.push_back(std::move(s.items));
  return out;
}

}  // namespace slimpack::detail

#endif
