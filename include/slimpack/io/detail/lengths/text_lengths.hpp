#ifndef SLIMPACK_IO_DETAIL_LENGTHS_TEXT_LENGTHS_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_TEXT_LENGTHS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/detail/masked.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>

#include <charconv>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace slimpack::io::detail {

/// `place` opens every message.
[[nodiscard]] inline result<tokens> text_length(std::string_view line, const std::string& place) {
  const auto wrong = [&](const std::string& what) {
    return error{errc::invalid_input, place + ": " + slimpack::detail::in_quotes(line) + what};
  };
  std::int64_t length{};
  const auto [end, failed] = std::from_chars(line.data(), line.data() + line.size(), length);
  if (failed == std::errc::invalid_argument || end != line.data() + line.size())
    return wrong(" is not a whole number, expected one decimal length a line");
  const bool overflown = failed == std::errc::result_out_of_range;
  if (line.front() == '-' || (length == 0 && !overflown))
    return wrong(" is not a length, expected at least 1: leave empty sequences out");
  if (length > longest_supported.value || overflown)
    return wrong(" is beyond the longest supported length, " + std::to_string(longest_supported.value) + " tokens");
  return tokens{length};
}

/// What `length_of` finds in each line; it takes the line and the place that opens its messages.
template <class LengthOf>
[[nodiscard]] result<std::vector<tokens>> lengths_of_lines(std::istream& in, const std::string& file,
                                                           LengthOf length_of) {
  std::vector<tokens> lengths;
  for (numbered_lines lines(in); lines.next();) {
    result<tokens> length = length_of(lines.line(), file + ": line " + std::to_string(lines.number()));
    if (!length) return std::move(length).error();
    lengths.push_back(length.value());
  }
  return lengths;
}

}  // namespace slimpack::io::detail

#endif
