#ifndef SLIMPACK_IO_CSV_HPP
#define SLIMPACK_IO_CSV_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/io/detail/csv_records.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>
#include <slimpack/io/detail/open.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace slimpack::io {

/// A file of values that are separated by commas, semicolons or tabs: a line of column names, then rows. Cells are
/// asked for by row and column name, and every complaint names the file, the line and the column.
/// Format    blank lines, blanks around cells, carriage returns and a byte order mark are skipped. A cell in quotation
///           marks may hold separators and line ends, and doubled marks, which stand for one (detail/csv_records.hpp).
///           The first of several columns may have no name: pandas writes its index so. A separator at the
///           end of the line of names, and of rows, says nothing
/// Errors    unreadable: the file; invalid_input: what it holds
/// Complexity O(file size) to read, O(columns) a cell
class csv_table {
 public:
  /// Errors    unreadable: the file; invalid_input: no header, a column without a name or named twice, a row of another
  ///           number of cells than columns, a quotation mark that is not closed
  [[nodiscard]] static result<csv_table> read(const std::filesystem::path& file) {
    result<std::ifstream> in = detail::open_to_read(file);
    if (!in) return std::move(in).error();
    return read(in.value(), file.string());
  }
  /// From a stream; the name of its file opens every complaint.
  [[nodiscard]] static result<csv_table> read(std::istream& in, const std::string& file) {
    csv_table made;
    made.file_ = file;
    detail::csv_records records(in);
    while (records.next())
      if (std::optional<error> wrong = made.add(records.cells(), records.line())) return std::move(*wrong);
    if (in.bad()) return error{errc::unreadable, made.file_ + ": could not be read to its end"};
    if (!records.fault().empty())
      return error{errc::invalid_input, made.place(records.line()) + ": " + std::string(records.fault())};
    if (made.columns_.empty())
      return error{errc::invalid_input, made.file_ + ": is empty, expected a line of column names"};
    return made;
  }

  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] std::size_t rows() const noexcept { return lines_.size(); }
  [[nodiscard]] const std::vector<std::string>& columns() const noexcept { return columns_; }
  [[nodiscard]] bool has(std::string_view column) const noexcept { return position(column) < columns_.size(); }

  /// Of a row, counted from 1.
  [[nodiscard]] std::size_t line(std::size_t row) const noexcept { return lines_[row]; }
  /// "file:line" of a row.
  [[nodiscard]] std::string where(std::size_t row) const { return place(lines_[row]); }
  /// "file:line" of the column names.
  [[nodiscard]] std::string where() const { return place(header_line_); }

  /// The error of a column that should be there.
  [[nodiscard]] error lacks(std::string_view column) const {
    return {errc::invalid_input,
            where() + ": lacks the column " + detail::shown(column) + ", it has " + detail::listed(columns_)};
  }

  /// Whether a row says nothing here: an empty cell, or no such column.
  [[nodiscard]] bool empty(std::size_t row, std::string_view column) const noexcept {
    const std::size_t at = position(column);
    return at == columns_.size() || cell(row, at).empty();
  }

  /// Errors    invalid_input: no such column
  [[nodiscard]] result<std::string> text(std::size_t row, std::string_view column) const {
    const std::size_t at = position(column);
    if (at == columns_.size()) return lacks(column);
    return cell(row, at);
  }

  /// The whole cell as a finite decimal number; units stand in column names.
  /// Errors    invalid_input: no such column, or the cell is no such number
  [[nodiscard]] result<double> number(std::size_t row, std::string_view column) const {
    const std::size_t at = position(column);
    if (at == columns_.size()) return lacks(column);
    const std::string& text = cell(row, at);
    double value{};
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
      return error{errc::invalid_input, where(row) + ": column " + detail::shown(columns_[at]) + ": " +
                                            (text.empty() ? "is empty" : detail::in_quotes(text) + " is not a number") +
                                            ", expected a decimal number without a unit"};
    return value;
  }

 private:
  csv_table() = default;

  [[nodiscard]] std::string place(std::size_t line) const { return file_ + ":" + std::to_string(line); }

  [[nodiscard]] std::size_t position(std::string_view column) const noexcept {
    return static_cast<std::size_t>(std::find(columns_.begin(), columns_.end(), column) - columns_.begin());
  }
  [[nodiscard]] const std::string& cell(std::size_t row, std::size_t column) const noexcept {
    return cells_[row * columns_.size() + column];
  }
  std::optional<error> add(std::vector<std::string>& cells, std::size_t number) {
    const auto wrong = [&](const std::string& what) { return error{errc::invalid_input, place(number) + ": " + what}; };
    if (columns_.empty()) {
      ends_in_separator_ = cells.size() > 1 && cells.back().empty();
      if (ends_in_separator_) cells.pop_back();
      for (auto name = cells.begin(); name != cells.end(); ++name) {
        const bool is_index = name == cells.begin() && cells.size() > 1;
        if (name->empty() && !is_index) return wrong("a column has no name, expected a line of column names");
        if (std::find(cells.begin(), name, *name) != name) return wrong("has two columns " + detail::shown(*name));
      }
      columns_ = std::move(cells);
      header_line_ = number;
      return std::nullopt;
    }
    if (ends_in_separator_ && cells.size() == columns_.size() + 1 && cells.back().empty()) cells.pop_back();
    if (cells.size() != columns_.size())
      return wrong("has " + std::to_string(cells.size()) + " cells, expected " + std::to_string(columns_.size()) +
                   " as line " + std::to_string(header_line_) + " has columns");
    for (std::string& cell : cells) cells_.push_back(std::move(cell));
    lines_.push_back(number);
    return std::nullopt;
  }

  std::string file_;
  std::vector<std::string> columns_;
  bool ends_in_separator_{};  ///< the line of column names does, and so may rows
  std::size_t header_line_{};
  std::vector<std::size_t> lines_;  ///< of each row
  std::vector<std::string> cells_;  ///< [row * columns + column]
};

}  // namespace slimpack::io

#endif
