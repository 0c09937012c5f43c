#ifndef SLIMPACK_CORE_DETAIL_INDICES_HPP
#define SLIMPACK_CORE_DETAIL_INDICES_HPP

#include <cstddef>
#include <cstdint>
#include <span>
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

/// Whether each number, of a replica as a rule, is larger than the one before. A loop: std::greater_equal would bring
/// <functional>, and with it hash tables, into every program that includes the planner.
[[nodiscard]] constexpr bool is_ascending(std::span<const std::uint32_t> numbers) noexcept {
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (numbers[i] <= numbers[i - 1]) return false;
  return true;
}

}  // namespace slimpack::detail

#endif
