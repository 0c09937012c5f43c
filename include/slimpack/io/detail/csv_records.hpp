#ifndef SLIMPACK_IO_DETAIL_CSV_RECORDS_HPP
#define SLIMPACK_IO_DETAIL_CSV_RECORDS_HPP

#include <slimpack/io/detail/numbered_lines.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <istream>
#include <string>
#include <string_view>
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

#endif
