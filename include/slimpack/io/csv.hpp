#ifndef SLIMPACK_IO_CSV_HPP
#define SLIMPACK_IO_CSV_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>
#include <slimpack/io/detail/open.hpp>

#include <algorithm>
#include <array>
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

namespace slimpack::io::detail {

/// The records of a file of separated values, without the blanks around their cells. Blank lines are skipped.
/// Rule      RFC 4180, and what spreadsheets write besides: cells are separated by commas, semicolons or tabs,
///           whichever the first line has most of. A cell that begins with a quotation mark ends with the next one that
///           is not doubled; in between may be separators, line ends, and doubled marks, which stand for one
class csv_records {
 public:
  explicit csv_records(std::istream& in) : in_(in) {}

  /// Goes to the next record. False at the end, or at a record that is faulty.
  [[nodiscard]] bool next() {
    do {
      if (!next_line()) return false;
    } while (is_blank());
    line_ = number_;
    if (separator_ == '\0') separator_ = separator_of(rest_);
    cells_.clear();
    while (true) {
      if (!next_cell()) return false;
      if (rest_.empty()) return true;
      rest_.remove_prefix(1);
    }
  }

  [[nodiscard]] std::vector<std::string>& cells() noexcept { return cells_; }
  /// Where the record begins, counted from 1.
  [[nodiscard]] std::size_t line() const noexcept { return line_; }
  /// What is wrong with the record; empty where nothing is.
  [[nodiscard]] std::string_view fault() const noexcept { return fault_; }

 private:
  [[nodiscard]] bool next_line() {
    if (!std::getline(in_, storage_)) return false;
    ++number_;
    rest_ = storage_;
    if (number_ == 1 && rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);  // byte order mark
    if (rest_.ends_with('\r')) rest_.remove_suffix(1);
    return true;
  }

  /// A line of tabs alone has cells where tabs separate them.
  [[nodiscard]] bool is_blank() const {
    return trimmed(rest_).empty() && (separator_ != '\t' || rest_.find('\t') == std::string_view::npos);
  }

  [[nodiscard]] static char separator_of(std::string_view line) {
    constexpr std::string_view known = ",;\t";
    std::array<std::size_t, known.size()> count{};
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (const std::size_t at = known.find(c); !quoted && at != std::string_view::npos) ++count[at];
    }
    return known[static_cast<std::size_t>(std::max_element(count.begin(), count.end()) - count.begin())];
  }

  /// Takes a cell off the rest of the line, which then is empty or begins with a separator.
  [[nodiscard]] bool next_cell() {
    skip_blanks();
    std::string cell;
    if (rest_.starts_with('"')) {
      if (!take_quoted(cell)) return false;
    } else {
      const std::size_t end = std::min(rest_.find(separator_), rest_.size());
      cell = rest_.substr(0, end);
      rest_.remove_prefix(end);
    }
    cells_.emplace_back(trimmed(cell));
    return true;
  }

  [[nodiscard]] bool take_quoted(std::string& cell) {
    rest_.remove_prefix(1);
    while (true) {
      if (rest_.empty()) {
        if (!next_line()) return fail("has a quotation mark that is not closed");
        cell += '\n';
      } else if (!rest_.starts_with('"')) {
        const std::size_t end = std::min(rest_.find('"'), rest_.size());
        cell += rest_.substr(0, end);
        rest_.remove_prefix(end);
      } else if (rest_.starts_with("\"\"")) {
        cell += '"';
        rest_.remove_prefix(2);
      } else {
        rest_.remove_prefix(1);
        skip_blanks();
        if (rest_.empty() || rest_.front() == separator_) return true;
        return fail("a cell goes on behind its closing quotation mark");
      }
    }
  }

  void skip_blanks() {
    while (!rest_.empty() && rest_.front() != separator_ && (rest_.front() == ' ' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
  }
  [[nodiscard]] bool fail(std::string_view fault) {
    fault_ = fault;
    return false;
  }

  std::istream& in_;
  std::string storage_;
  std::string_view rest_;  ///< of the line, behind what has been taken
  std::size_t number_{};
  char separator_{};
  std::vector<std::string> cells_;
  std::size_t line_{};
  std::string_view fault_;
};

}  // namespace slimpack::io::detail

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
