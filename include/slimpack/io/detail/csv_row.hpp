#ifndef SLIMPACK_IO_DETAIL_CSV_ROW_HPP
#define SLIMPACK_IO_DETAIL_CSV_ROW_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/detail/masked.hpp>
#include <slimpack/io/csv.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// A row of measurements. Every question has an answer, which means something as long as nothing was `wrong`: the first
/// fault is kept, so that a row is read as one expression.
class csv_row {
 public:
  csv_row(const csv_table& table, std::size_t row) : table_(table), row_(row) {}

  [[nodiscard]] const std::optional<error>& wrong() const noexcept { return wrong_; }

  /// Why the row is left out, for one that is sound and of a shape that nothing here knows.
  [[nodiscard]] const std::optional<std::string>& left_out() const noexcept { return left_out_; }

  void fail(std::string_view column, const std::string& what) {
    if (wrong_) return;
    wrong_ = error{errc::invalid_input, table_.where(row_) + ": column " + shown(column) + ": " + what};
  }

  [[nodiscard]] std::string text(std::string_view column) { return taken(table_.text(row_, column)); }

  /// Whose measurement it is.
  [[nodiscard]] std::string gpu() {
    std::string name = text("gpu");
    if (name.empty()) fail("gpu", "is empty");
    return name;
  }

  /// A whole number of at least 1.
  template <class Integer = int>
  [[nodiscard]] Integer count(std::string_view column, Integer most = 1'000'000'000) {
    const double value = number(column);
    if (value >= 1 && value <= static_cast<double>(most) && value == std::floor(value))
      return static_cast<Integer>(value);
    fail(column, shown(text(column)) + " is not a whole number from 1 to " + std::to_string(most));
    return Integer{1};
  }

  /// The width of a head: where queries and keys have another than values, "192/128" or the like, or a column
  /// v_head_dim beside, the one of as much work, which is their mean. Of more widths none is known.
  [[nodiscard]] int head_width(std::string_view column) {
    const std::string cell = text(column);
    std::vector<std::string> widths;
    for (std::size_t at = 0; at < cell.size();) {
      const std::size_t from = cell.find_first_of("0123456789", at);
      if (from == std::string::npos) break;
      at = std::min(cell.size(), cell.find_first_not_of("0123456789", from));
      widths.push_back(cell.substr(from, at - from));
    }
    const bool listed = cell.find('-') != 0 && cell.find_first_not_of("0123456789 /,;:|&x*+-()[]") == std::string::npos;
    if (!listed || widths.size() < 2) {
      const int width = count(column);
      return table_.empty(row_, "v_head_dim") ? width : (width + count("v_head_dim")) / 2;
    }
    int sum = 0;
    for (const std::string& width : widths) sum += width.size() < 7 ? std::stoi(width) : 0;
    if (widths.size() > 2 || sum / 2 < 1)
      left_out_ = "column " + std::string(column) + ": " + in_quotes(cell) + " is no width of heads that is known";
    return std::max(1, sum / 2);
  }

  /// 0 or 1; `otherwise` where the file does not say.
  [[nodiscard]] bool flag(std::string_view column, bool otherwise) {
    if (table_.empty(row_, column)) return otherwise;
    const double value = number(column);
    if (value != 0 && value != 1) fail(column, shown(text(column)) + " is neither 0 nor 1");
    return value == 1;
  }

  /// No kernel takes less than a picosecond or more than a day: another unit was meant, and what is made of such times
  /// would leave the range of numbers.
  [[nodiscard]] seconds time(const csv_quantity& q) {
    const seconds t{positive(q)};
    if (t >= seconds{1e-12} && t <= seconds{86400}) return t;
    fail(q.column, shown(text(q.column)) + " is less than a picosecond or more than a day: is the unit right?");
    return {1};
  }
  [[nodiscard]] bytes size(const csv_quantity& q) { return {positive(q)}; }

  /// Nothing where the file has no such column, or an empty cell: not measured.
  [[nodiscard]] std::optional<seconds> time(const std::optional<csv_quantity>& q) {
    if (!q || table_.empty(row_, q->column)) return std::nullopt;
    return time(*q);
  }

 private:
  template <class T>
  [[nodiscard]] T taken(result<T> answer) {
    if (answer) return std::move(answer).value();
    if (!wrong_) wrong_ = std::move(answer).error();
    return T{};
  }
  /// A cell, for a message.
  [[nodiscard]] double number(std::string_view column) { return taken(table_.number(row_, column)); }

  [[nodiscard]] double positive(const csv_quantity& q) {
    const double value = number(q.column) * q.unit.times / q.unit.per;
    if (value > 0 && std::isfinite(value)) return value;
    fail(q.column, shown(text(q.column)) + " is not more than 0");
    return 1;
  }

  const csv_table& table_;
  std::size_t row_;
  std::optional<error> wrong_;
  std::optional<std::string> left_out_;
};

}  // namespace slimpack::io::detail

#endif
