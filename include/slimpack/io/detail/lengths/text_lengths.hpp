#ifndef SLIMPACK_IO_DETAIL_LENGTHS_TEXT_LENGTHS_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_TEXT_LENGTHS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/io/detail/lengths/field.hpp>
#include <slimpack/io/detail/lengths/length_rows.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <system_error>

namespace slimpack::io::detail {

/// The number of a line, from 0 to `most`. `place` opens every message.
[[nodiscard]] inline result<std::int64_t> text_value(std::string_view line, std::int64_t most,
                                                     const std::string& place) {
  const auto wrong = [&](const std::string& what) {
    return error{errc::invalid_input, place + ": " + slimpack::detail::in_quotes(line) + what};
  };
  const std::string_view digits = without_fraction(line);
  std::int64_t value{};
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failed == std::errc::invalid_argument || end != digits.data() + digits.size())
    return wrong(" is not a whole number, expected one decimal length a line");
  if (line.front() == '-') return wrong(" is not a length, expected at least 1");
  if (failed == std::errc::result_out_of_range || value > most)
    return wrong(" is beyond the longest supported length, " + std::to_string(longest_supported.value) + " tokens");
  return value;
}

/// Reads a file with one decimal number a line.
[[nodiscard]] inline result<void> text_lengths(std::istream& in, const std::string& file, length_rows& to) {
  std::size_t rows = 0;
  for (numbered_lines lines(in); lines.next();) {
    const auto place = [&] { return file + ": line " + std::to_string(lines.number()); };
    const result<std::int64_t> value = text_value(lines.line(), to.most(), place());
    if (!value && to.guesses() && rows == 0 && is_column_name(lines.line())) {
      error named = value.error();
      named.detail += "; if it names a column of lengths, the file is read with the format csv";
      return named;
    }
    if (!value) return value.error();
    ++rows;
    if (result<void> added = to.add(value.value(), told::bare, place); !added) return added;
  }
  return success();
}

}  // namespace slimpack::io::detail

#endif
