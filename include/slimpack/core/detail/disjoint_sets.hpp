#ifndef SLIMPACK_CORE_DETAIL_DISJOINT_SETS_HPP
#define SLIMPACK_CORE_DETAIL_DISJOINT_SETS_HPP

#include <slimpack/core/detail/indices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::detail {

/// Sets of numbers that grow together; the smallest number of a set stands for it.
/// boost::disjoint_sets does the same, and tests compare the two; but its header includes boost/graph, which headers of
/// a basic planner must not.
/// Source    R. E. Tarjan, Efficiency of a good but not linear set union algorithm (1975), with paths halved
/// Complexity O(log n) for each call, nearly constant in the mean
class disjoint_sets {
 public:
  explicit disjoint_sets(std::size_t size) : parent_(slimpack::detail::indices<std::uint32_t>(size)) {}

  [[nodiscard]] std::uint32_t representative(std::uint32_t n) {
    while (parent_[n] != n) n = parent_[n] = parent_[parent_[n]];
    return n;
  }

  void unite(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t first = representative(a);
    const std::uint32_t other = representative(b);
    parent_[std::max(first, other)] = std::min(first, other);
  }

 private:
  std::vector<std::uint32_t> parent_;  // a smaller number of the set, at last the smallest
};

}  // namespace slimpack::detail

#endif
