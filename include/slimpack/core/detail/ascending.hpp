#ifndef SLIMPACK_CORE_DETAIL_ASCENDING_HPP
#define SLIMPACK_CORE_DETAIL_ASCENDING_HPP

#include <cstddef>
#include <cstdint>
#include <span>

namespace slimpack::detail {

/// Whether each number, of a replica as a rule, is larger than the one before. A loop: std::greater_equal would bring
/// <functional>, and with it hash tables, into every program that includes the planner.
[[nodiscard]] constexpr bool is_ascending(std::span<const std::uint32_t> numbers) noexcept {
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (numbers[i] <= numbers[i - 1]) return false;
  return true;
}

}  // namespace slimpack::detail

#endif
