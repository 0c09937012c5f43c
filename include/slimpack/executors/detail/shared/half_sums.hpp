#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_HALF_SUMS_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_HALF_SUMS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/outgoing.hpp>
#include <slimpack/executors/sharing.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace slimpack::detail {

/// An element of 16 bits, and the one that is nearest to a float, of two the even one. The sum of two elements in float
/// rounds to the same element as their exact sum: float has 24 bits, and 2 p + 2 are enough for elements of p (Figueroa
/// 1995), here 8 and 11.
struct bfloat16_bits {
  [[nodiscard]] static float value(std::uint16_t bits) noexcept {
    return std::bit_cast<float>(std::uint32_t{bits} << 16U);
  }
  [[nodiscard]] static std::uint16_t nearest(float f) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(f);
    if (std::isnan(f)) return static_cast<std::uint16_t>(bits >> 16U | 0x40U);
    return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U);
  }
};
struct float16_bits {
  [[nodiscard]] static float value(std::uint16_t bits) noexcept {
    const int exponent = bits >> 10U & 0x1fU;
    const int last = bits & 0x3ffU;
    const float size =
        exponent == 0x1f
            ? (last == 0 ? INFINITY : NAN)
            : static_cast<float>(std::ldexp(exponent == 0 ? last : last + 0x400, std::max(exponent, 1) - 25));
    return (bits & 0x8000U) != 0 ? -size : size;
  }
  /// A size a = n 2^(e - 10), where 2^e <= a or e = -14, has the bits 2^10 (e + 14) + n.
  [[nodiscard]] static std::uint16_t nearest(float f) noexcept {
    const unsigned sign = std::signbit(f) ? 0x8000U : 0U;
    const float size = std::abs(f);
    if (std::isnan(f)) return static_cast<std::uint16_t>(sign | 0x7e00U);
    if (size >= 65520) return static_cast<std::uint16_t>(sign | 0x7c00U);  // half-way behind the largest
    const int e = size == 0 ? -14 : std::max(std::ilogb(size), -14);
    const auto n = static_cast<unsigned>(std::nearbyint(std::ldexp(size, 10 - e)));
    return static_cast<std::uint16_t>(sign | (static_cast<unsigned>(e + 14) * 0x400U + n));
  }
};

template <class Bits>
void add_halves(std::span<std::byte> sum, std::span<const std::byte> one) {
  const std::span<std::uint16_t> to = elements_of<std::uint16_t>(sum);
  const std::span<const std::uint16_t> from = elements_of<const std::uint16_t>(one);
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = Bits::nearest(Bits::value(to[i]) + Bits::value(from[i]));
}

/// sharing::due of rows whose element is known when the program runs.
/// Errors    invalid_input: int8, whose sums are none
[[nodiscard]] inline result<void> due_of(sharing& with, int layer, std::span<std::byte> rows, element_type element) {
  switch (element) {
    case element_type::float32:
      return with.due(layer, elements_of<float>(rows));
    case element_type::float64:
      return with.due(layer, elements_of<double>(rows));
    case element_type::float16:
      return with.add(layer, rows, &add_halves<float16_bits>);
    case element_type::bfloat16:
      return with.add(layer, rows, &add_halves<bfloat16_bits>);
    case element_type::int8:
      break;
  }
  return error{errc::invalid_input,
               "gradients of rows are floating-point numbers, where rows() says " + to_string(element)};
}

}  // namespace slimpack::detail

#endif
