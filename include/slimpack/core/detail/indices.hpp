#ifndef SLIMPACK_CORE_DETAIL_INDICES_HPP
#define SLIMPACK_CORE_DETAIL_INDICES_HPP

#include <cstddef>
#include <vector>

namespace slimpack::detail {

/// 0, 1, ..., n - 1. As std::iota fills a vector, without <numeric>, which brings the parallel algorithms' declarations
/// along.
template <class Index>
[[nodiscard]] std::vector<Index> indices(std::size_t n) {
  std::vector<Index> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = static_cast<Index>(i);
  return all;
}

}  // namespace slimpack::detail

#endif
