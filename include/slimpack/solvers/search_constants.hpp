#ifndef SLIMPACK_SOLVERS_SEARCH_CONSTANTS_HPP
#define SLIMPACK_SOLVERS_SEARCH_CONSTANTS_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// Numbers that tune a search, each with its name and its range: those of search_options, and of its `tuning`.
namespace slimpack::solvers {

struct search_constant {
  std::string_view name;
  double value{};
  double least{};
  double most{};
  bool whole{};  ///< a count

  friend constexpr bool operator==(const search_constant& a, const search_constant& b) noexcept {
    return a.value == b.value;
  }
};

/// A constant that is a fraction or a factor. It converts from and to its value.
struct search_ratio : search_constant {
  constexpr search_ratio(double x) noexcept : search_constant{{}, x} {}  // NOLINT: implicit, as {.light = 0.1} is
  constexpr search_ratio(std::string_view called, double x, double from, double to) noexcept
      : search_constant{called, x, from, to} {}
  constexpr operator double() const noexcept { return value; }  // NOLINT: implicit, as a double is
};

/// A constant that is a count. It converts from and to its value.
struct search_count : search_constant {
  constexpr search_count(std::uint32_t x) noexcept : search_count({}, x, 0, 0) {}  // NOLINT: implicit, as above
  constexpr search_count(std::string_view called, std::uint32_t x, double from, double to) noexcept
      : search_constant{called, static_cast<double>(x), from, to, true} {}
  constexpr operator std::uint32_t() const noexcept { return static_cast<std::uint32_t>(value); }  // NOLINT
};

/// The constants of an aggregate that has nothing else, in their order; names and ranges are those of the defaults.
template <class Aggregate>
[[nodiscard]] auto constants_of(const Aggregate& all) {
  static_assert(sizeof(Aggregate) % sizeof(search_constant) == 0, "each member is a search_ratio or a search_count");
  using list = std::array<search_constant, sizeof(Aggregate) / sizeof(search_constant)>;
  auto found = std::bit_cast<list>(Aggregate{});
  const auto given = std::bit_cast<list>(all);
  for (std::size_t i = 0; i < found.size(); ++i) found[i].value = given[i].value;
  return found;
}

/// The aggregate with another value of the constant of that name; a count is rounded.
template <class Aggregate>
[[nodiscard]] Aggregate with_constant(const Aggregate& all, std::string_view name, double value) {
  auto changed = constants_of(all);
  for (search_constant& c : changed)
    if (c.name == name) c.value = c.whole ? static_cast<std::uint32_t>(value + 0.5) : value;
  return std::bit_cast<Aggregate>(changed);
}

}  // namespace slimpack::solvers

#endif
