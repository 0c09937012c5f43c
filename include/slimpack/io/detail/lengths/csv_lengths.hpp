#ifndef SLIMPACK_IO_DETAIL_LENGTHS_CSV_LENGTHS_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_CSV_LENGTHS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/io/csv.hpp>
#include <slimpack/io/detail/lengths/doubts/doubtful_columns.hpp>
#include <slimpack/io/detail/lengths/field.hpp>
#include <slimpack/io/detail/lengths/length_rows.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace slimpack::io::detail {

/// Reads columns of lengths: those that are named, the first of the usual ones, or the only one.
class csv_lengths {
 public:
  csv_lengths(const csv_table& table, std::string_view field, length_rows& to)
      : table_(table), field_(field), to_(to) {}

  [[nodiscard]] result<void> read() {
    if (result<void> chosen = choose(); !chosen) return chosen;
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      if (result<void> sample = check_summary(row); !sample) return sample;
      std::int64_t sum = 0;
      for (const std::string& column : columns_) {
        const result<std::int64_t> value = number(row, column);
        if (!value) return value.error();
        if (value.value() > to_.most() - sum)
          return wrong(row, field_, "the sum is more than " + std::to_string(to_.most()));
        sum += value.value();
      }
      if (result<void> agreed = check_others(row, sum); !agreed) return agreed;
      if (result<void> added = to_.add(sum, told::named, [&] { return table_.where(row); }); !added) return added;
    }
    return end();
  }

 private:
  [[nodiscard]] error wrong(std::size_t row, std::string_view column, const std::string& what) const {
    return {errc::invalid_input, table_.where(row) + ": column " + shown(column) + ": " + what};
  }

  [[nodiscard]] static bool is_number(std::string_view name) {
    return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
  }

  [[nodiscard]] result<void> choose() {
    if (!field_.empty()) {
      columns_ = table_.has(field_) || to_.has_ends() ? std::vector<std::string>{field_} : terms_of(field_);
    } else {
      std::vector<std::string> named = table_.columns();
      if (std::all_of(named.begin(), named.end(), is_number))
        return error{errc::invalid_input, table_.where() + ": has numbers, " + listed(named) +
                                              ", expected a line of column names; " + std::string(name_the_field)};
      std::erase(named, std::string{});
      const std::initializer_list<const char*> known = to_.has_ends() ? ends_fields : usual_fields;
      const auto is_known = [&](auto spelled) {
        for (const char* const name : known)
          for (const std::string& column : named)
            if (spelled(column) == name) return std::optional(column);
        return std::optional<std::string>();
      };
      std::optional<std::string> usual = is_known([](const std::string& column) { return column; });
      if (!usual) usual = is_known(lower_case);
      columns_ = {usual ? *usual : named.size() == 1 ? named.front() : *known.begin()};
    }
    for (const std::string& column : columns_) {
      if (table_.has(column)) continue;
      error missing = table_.lacks(column);
      missing.detail += "; " + std::string(name_the_field);
      return missing;
    }
    return success();
  }

  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view text) const {
    text = without_fraction(text);
    std::int64_t value{};
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_whole = failed == std::errc{} && end == text.data() + text.size();
    return is_whole && value >= 0 && value <= to_.most() ? std::optional(value) : std::nullopt;
  }

  [[nodiscard]] result<std::int64_t> number(std::size_t row, const std::string& column) const {
    const result<std::string> cell = table_.text(row, column);
    if (!cell) return cell.error();
    if (const std::optional<std::int64_t> value = whole(cell.value())) return *value;
    return wrong(row, column,
                 (cell.value().empty() ? "is empty" : in_quotes(cell.value()) + " is no length") +
                     ", expected a whole number from 1 to " + std::to_string(to_.most()));
  }

  /// A row that sums others up is no sequence.
  [[nodiscard]] result<void> check_summary(std::size_t row) const {
    const std::string& first = table_.columns().front();
    if (std::find(columns_.begin(), columns_.end(), first) != columns_.end()) return success();
    const std::string cell = table_.text(row, first).value();
    if (!names_summary(cell)) return success();
    return error{errc::invalid_input, table_.where(row) + ": begins with " + in_quotes(cell) +
                                          ", so it sums up other rows, expected one sequence a row: leave it out"};
  }

  /// The column that may say how often a length occurs, or null.
  [[nodiscard]] const char* count_column() const {
    for (const char* const name : count_fields)
      if (table_.has(name) && columns_.front() != name) return name;
    return nullptr;
  }

  /// Other columns that say how many tokens the row has must say the same, unless the user has named one.
  [[nodiscard]] result<void> check_others(std::size_t row, std::int64_t value) {
    const auto other = [&](const char* name) -> std::optional<std::int64_t> {
      if (!table_.has(name) || columns_.front() == name) return std::nullopt;
      return whole(table_.text(row, name).value());
    };
    if (to_.has_ends()) return success();
    if (!field_.empty()) {
      if (const std::optional<std::int64_t> length = other("length"); length && *length != value && !is_usual(field_))
        has_length_too_ = true;
      return success();
    }
    for (const char* const name : length_fields)
      if (const std::optional<std::int64_t> of_other = other(name); of_other && *of_other != value)
        return error{errc::invalid_input, table_.where(row) + ": " + columns_.front() + " says " +
                                              std::to_string(value) + " tokens, and " + name + " says " +
                                              std::to_string(*of_other) + "; " + std::string(name_the_field)};
    if (row == 0)
      if (const std::optional<std::string> note =
              parts_note(columns_.front(), value, table_.columns(),
                         [&](const std::string& name) { return whole(table_.text(0, name).value()); }))
        to_.note(*note);
    if (const char* const count = count_column(); count != nullptr && !table_.empty(row, count))
      if (const result<double> times = table_.number(row, count)) histogram_.add(value, times.value());
    const auto text =
        std::find_if(text_fields.begin(), text_fields.end(), [&](const char* name) { return table_.has(name); });
    if (text != text_fields.end()) characters_.add(value, table_.text(row, *text).value());
    return success();
  }

  [[nodiscard]] result<void> end() const {
    if (characters_.are_alike())
      return error{errc::invalid_input,
                   table_.file() + ": column " + columns_.front() + " is the number of characters of " +
                       "the text beside it in every row: with the field " + columns_.front() + " it is read as tokens"};
    if (histogram_.is_histogram(table_.rows()))
      return error{errc::invalid_input, table_.file() + ": " + histogram_why(columns_.front(), count_column())};
    if (names_lengths_alone(field_.empty() ? columns_.front() : field_)) to_.are_lengths_by_name();
    if (has_length_too_) to_.note(length_too(field_));
    return success();
  }

  const csv_table& table_;
  std::string field_;
  length_rows& to_;
  std::vector<std::string> columns_;
  character_counts characters_;
  histogram_rows histogram_;
  bool has_length_too_{};
};

}  // namespace slimpack::io::detail

#endif
