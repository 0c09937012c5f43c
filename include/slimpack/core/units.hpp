#ifndef SLIMPACK_CORE_UNITS_HPP
#define SLIMPACK_CORE_UNITS_HPP

#include <compare>
#include <cstdint>

namespace slimpack {

/// A number that carries its unit in its type; a bare double is a ratio.
/// Quantities of one unit add, subtract and compare; a ratio scales them. Mixing units does not compile.
/// Errors    none            Complexity  that of Rep
template <class Unit, class Rep>
struct quantity {
  Rep value{};

  friend constexpr auto operator<=>(const quantity&, const quantity&) = default;
  // Compilers make better code of these than of <=> on floating-point numbers, and searches compare all the time.
  friend constexpr bool operator<(quantity a, quantity b) noexcept { return a.value < b.value; }
  friend constexpr bool operator>(quantity a, quantity b) noexcept { return a.value > b.value; }
  friend constexpr bool operator<=(quantity a, quantity b) noexcept { return a.value <= b.value; }
  friend constexpr bool operator>=(quantity a, quantity b) noexcept { return a.value >= b.value; }
  friend constexpr quantity operator+(quantity a, quantity b) noexcept { return {a.value + b.value}; }
  friend constexpr quantity operator-(quantity a, quantity b) noexcept { return {a.value - b.value}; }
  friend constexpr quantity operator*(quantity a, Rep factor) noexcept { return {a.value * factor}; }
  friend constexpr quantity operator*(Rep factor, quantity a) noexcept { return {factor * a.value}; }
  friend constexpr double operator/(quantity a, quantity b) noexcept {
    return static_cast<double>(a.value) / static_cast<double>(b.value);
  }
  constexpr quantity& operator+=(quantity other) noexcept { return value += other.value, *this; }
  constexpr quantity& operator-=(quantity other) noexcept { return value -= other.value, *this; }
};

using tokens = quantity<struct tokens_unit, std::int64_t>;
using seconds = quantity<struct seconds_unit, double>;
using bytes = quantity<struct bytes_unit, double>;  ///< fractional, since sharding divides

/// Position of a sequence in its batch.
struct sequence_id {
  std::uint32_t value{};
  friend constexpr auto operator<=>(const sequence_id&, const sequence_id&) = default;
  friend constexpr bool operator==(const sequence_id&, const sequence_id&) = default;  // nvcc 13 does not define what
                                                                                       // <=> implies
};

/// Position of a micropack in the run order of its pass.
struct pack_id {
  std::uint32_t value{};
  friend constexpr auto operator<=>(const pack_id&, const pack_id&) = default;
  friend constexpr bool operator==(const pack_id&, const pack_id&) = default;  // nvcc 13 does not define what <=>
                                                                               // implies
};

}  // namespace slimpack

#endif
