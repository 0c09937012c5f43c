#ifndef SLIMPACK_IO_DETAIL_CSV_UNIT_HPP
#define SLIMPACK_IO_DETAIL_CSV_UNIT_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/detail/masked.hpp>
#include <slimpack/io/csv.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace slimpack::io::detail {

/// A unit that ends a column's name, and what a number in it means: number * times / per.
struct csv_unit {
  std::string_view name;
  double times{1};
  double per{1};  ///< apart from `times`, so that milliseconds are divided by an exact number
};

inline constexpr csv_unit time_units[] = {{"s"}, {"ms", 1, 1e3}, {"us", 1, 1e6}, {"ns", 1, 1e9}};
inline constexpr csv_unit size_units[] = {{"bytes"},   {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824},
                                          {"KB", 1e3}, {"MB", 1e6},   {"GB", 1e9}};

/// The column of a file that holds a quantity, in whichever unit.
struct csv_quantity {
  std::string column;
  csv_unit unit;
};

/// fwd_ms for the stem "fwd", ms for an empty one.
[[nodiscard]] inline std::string column_of(std::string_view stem, const csv_unit& unit) {
  std::string name(stem);
  if (!name.empty()) name += '_';
  return name.append(unit.name);
}

/// "fwd_s, fwd_ms, fwd_us or fwd_ns".
[[nodiscard]] inline std::string columns_of(std::string_view stem, std::span<const csv_unit> units) {
  std::string list;
  for (std::size_t i = 0; i < units.size(); ++i)
    list += (i == 0 ? "" : i + 1 < units.size() ? ", " : " or ") + column_of(stem, units[i]);
  return list;
}

/// The column of a quantity, or nothing when the file has none.
/// Errors    invalid_input: two columns, or one with a unit that is none of these
[[nodiscard]] inline result<std::optional<csv_quantity>> find_quantity(const csv_table& table, std::string_view stem,
                                                                       std::span<const csv_unit> units) {
  const auto wrong = [&](const std::string& what) {
    return error{errc::invalid_input, table.where() + ": " + what + ", expected one of " + columns_of(stem, units)};
  };
  std::optional<csv_quantity> found;
  for (const csv_unit& unit : units) {
    const std::string name = column_of(stem, unit);
    if (!table.has(name)) continue;
    if (found) return wrong("has both " + found->column + " and " + name);
    found = csv_quantity{name, unit};
  }
  if (found || stem.empty()) return found;
  const std::string start = std::string(stem) + "_";
  for (const std::string& name : table.columns())
    if (name.starts_with(start)) return wrong("column " + shown(name) + " has an unknown unit");
  return found;
}

/// The same where a file must have the quantity.
[[nodiscard]] inline result<csv_quantity> need_quantity(const csv_table& table, std::string_view stem,
                                                        std::span<const csv_unit> units) {
  result<std::optional<csv_quantity>> found = find_quantity(table, stem, units);
  if (!found) return std::move(found).error();
  if (!found.value()) return table.lacks(columns_of(stem, units));
  return *std::move(found).value();
}

}  // namespace slimpack::io::detail

#endif
