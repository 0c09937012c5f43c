#ifndef SLIMPACK_IO_LENGTHS_HPP
#define SLIMPACK_IO_LENGTHS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/megatron_index.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>
#include <slimpack/io/detail/open.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace slimpack::io {

/// How a file lists the lengths of sequences.
enum class lengths_format : unsigned char {
  automatic,  ///< idx by its magic bytes, jsonl when the first character that is no blank is '{', else text
  text,       ///< one decimal length a line
  jsonl,      ///< one JSON object a line; a member is the length, or the tokens
  idx,        ///< the index of a Megatron-LM indexed dataset: lengths of its sequences, not of its documents
};

namespace detail {

/// `place` opens every message, here and in json_length.
[[nodiscard]] inline result<tokens> text_length(std::string_view line, const std::string& place) {
  const auto wrong = [&](const std::string& what) {
    return error{errc::invalid_input, place + ": " + in_quotes(line) + what};
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

[[nodiscard]] inline result<tokens> json_length(std::string_view line, const std::string& field,
                                                const std::string& place) {
  return read_json(line, place, [&](const json_place& sample) {
    const json_place length = field.empty() ? sample.need({"length", "tokens", "input_ids"}) : sample[field.c_str()];
    if (!length.is_array()) return tokens{length.integer(1, longest_supported.value)};
    if (length.size() == 0) length.expected("at least one token: leave empty sequences out");
    return tokens{static_cast<std::int64_t>(length.size())};
  });
}

}  // namespace detail

/// Reads the lengths of the sequences of a training set, in file order.
/// Blank lines, blanks around a line and carriage returns are skipped; pipes work, but for idx.
/// field     of jsonl: the member to read, a number or an array of tokens. Without one, the first of "length",
///           "tokens", "input_ids" that the line has
/// Units     tokens, each length from 1 to longest_supported
/// Errors    unreadable: the file; invalid_input: what it holds, with the line (text, jsonl) or byte offset (idx).
///           A file without lengths is an error
/// Complexity O(file size)
[[nodiscard]] inline result<std::vector<tokens>> read_lengths(const std::filesystem::path& file,
                                                              lengths_format format = lengths_format::automatic,
                                                              std::string_view field = {}) {
  if (format == lengths_format::idx) return detail::megatron_index(file).lengths();
  result<std::ifstream> in = detail::open_to_read(file);
  if (!in) return std::move(in).error();
  detail::numbered_lines lines(in.value());
  const std::string member{field};
  std::vector<tokens> lengths;
  while (lines.next()) {
    if (format == lengths_format::automatic) {
      if (lines.number() == 1 && lines.line().substr(0, 7) == detail::megatron_index::magic.substr(0, 7))
        return detail::megatron_index(file).lengths();
      format = lines.line().front() == '{' ? lengths_format::jsonl : lengths_format::text;
    }
    const std::string place = file.string() + ": line " + std::to_string(lines.number());
    result<tokens> length = format == lengths_format::jsonl ? detail::json_length(lines.line(), member, place)
                                                            : detail::text_length(lines.line(), place);
    if (!length) return std::move(length).error();
    lengths.push_back(length.value());
  }
  if (in.value().bad()) return error{errc::unreadable, file.string() + ": could not be read to its end"};
  if (lengths.empty())
    return error{errc::invalid_input, file.string() + ": holds no lengths, expected one decimal length a line, " +
                                          "one JSON object a line, or a Megatron-LM .idx"};
  return lengths;
}

}  // namespace slimpack::io

#endif
