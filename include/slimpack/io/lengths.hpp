#ifndef SLIMPACK_IO_LENGTHS_HPP
#define SLIMPACK_IO_LENGTHS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/io/detail/lengths/csv_lengths.hpp>
#include <slimpack/io/detail/lengths/field.hpp>
#include <slimpack/io/detail/lengths/json_lengths.hpp>
#include <slimpack/io/detail/lengths/npy_lengths.hpp>
#include <slimpack/io/detail/lengths/other_format.hpp>
#include <slimpack/io/detail/lengths/peeked_stream.hpp>
#include <slimpack/io/detail/lengths/text_lengths.hpp>
#include <slimpack/io/detail/megatron_index.hpp>
#include <slimpack/io/detail/open.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::io {

/// How a file lists the lengths of sequences.
enum class lengths_format : unsigned char {
  automatic,  ///< idx and npy by their magic bytes; by the first line that is not blank jsonl where it begins with '{',
              ///< json with '['; csv where it has a comma or is a usual field, or a field is asked for, unless it
              ///< begins with a digit; else text
  text,       ///< one decimal length a line
  jsonl,      ///< one JSON object a line; a member is the length, or the tokens
  json,       ///< a JSON array of lengths, of arrays of tokens, or of objects as in jsonl
  csv,        ///< columns with names, one of them of lengths (io/csv.hpp)
  npy,        ///< a NumPy array of integers in one dimension
  idx,        ///< the index of a Megatron-LM indexed dataset: lengths of its sequences, not of its documents
};

using detail::name_the_field;

namespace detail {

/// The format of a stream that is neither idx nor npy.
[[nodiscard]] inline lengths_format format_of(std::string_view first, std::string_view field) {
  if (first.starts_with("\xef\xbb\xbf")) first.remove_prefix(3);  // byte order mark
  first.remove_prefix(std::min(first.find_first_not_of(" \t\r\n"), first.size()));
  const std::string_view line = trimmed(first.substr(0, first.find('\n')));
  if (line.starts_with('{')) return lengths_format::jsonl;
  if (line.starts_with('[')) return lengths_format::json;
  const auto control = [](char c) { return c >= 0 && c < ' ' && c != '\t'; };
  const bool comma = line.find(',') != std::string_view::npos;
  const bool number = !line.empty() && line.front() >= '0' && line.front() <= '9' && (field.empty() || !comma);
  if (line.empty() || number || std::any_of(line.begin(), line.end(), control)) return lengths_format::text;
  const bool usual = std::find(usual_fields.begin(), usual_fields.end(), line) != usual_fields.end();
  if (usual || !field.empty() || comma) return lengths_format::csv;
  return lengths_format::text;
}

/// The error of a field that is asked of a format that has none, or nothing.
[[nodiscard]] inline std::optional<error> no_field(lengths_format format, std::string_view field,
                                                   const std::string& file) {
  const char* const is = format == lengths_format::text  ? "one length a line"
                         : format == lengths_format::npy ? "a NumPy array"
                         : format == lengths_format::idx ? "a Megatron-LM index"
                                                         : nullptr;
  if (field.empty() || is == nullptr) return std::nullopt;
  return error{errc::invalid_input,
               file + ": is " + is + ", which has no field " + std::string(field) + "; leave the field out"};
}

/// Of a format that is known, and is not idx.
[[nodiscard]] inline result<std::vector<tokens>> lengths_in(std::istream& in, const std::string& file,
                                                            lengths_format format, std::string_view field) {
  const std::string member{field};
  const auto in_line = [&](std::string_view line, const std::string& place) {
    return json_length(line, member, place);
  };
  if (format == lengths_format::npy) return npy_lengths(in, file).read();
  if (format == lengths_format::json) return json_lengths(in, member, file);
  if (format == lengths_format::csv) return csv_lengths(in, field, file);
  if (format == lengths_format::jsonl) return lengths_of_lines(in, file, in_line);
  return lengths_of_lines(in, file, text_length);
}

}  // namespace detail

/// Reads the lengths of the sequences of a training set, in file order, from a stream: a file that is decompressed,
/// say. Blank lines, blanks around a line and carriage returns are skipped.
/// file      opens every message
/// field     of json, jsonl and csv: the member or column to read, a number or (json) an array of tokens. Without one,
///           the first of "length", "tokens", "input_ids" that the sample has, or the only column
/// Data rows element n of what is returned is row n of the file. Row 0 is the first line that is not blank of text and jsonl,
///           the first such line below the column names of csv, element 0 of json and npy, sequence 0 of an idx. Plans name
///           the sequences of their batches by these numbers (plan_data)
/// Units     tokens, each length from 1 to longest_supported
/// Errors    unreadable: the stream; invalid_input: what it holds, with the line, element or byte offset; an idx, which
///           is read from its file; files that are compressed, Parquet or Arrow, with what to do about them. A file
///           without lengths is an error
/// Complexity O(file size)
[[nodiscard]] inline result<std::vector<tokens>> read_lengths(std::istream& in, const std::string& file,
                                                              lengths_format format = lengths_format::automatic,
                                                              std::string_view field = {}) {
  detail::peeked_stream peeked(in);
  if (std::optional<error> other = detail::other_format_of(peeked.first(), file, field)) return *std::move(other);
  if (format == lengths_format::idx ||
      (format == lengths_format::automatic && detail::megatron_index::begins(peeked.first())))
    return error{errc::invalid_input, file + ": is a Megatron-LM index, which is read from an uncompressed file only"};
  if (format == lengths_format::automatic)
    format =
        peeked.first().starts_with(detail::npy_magic) ? lengths_format::npy : detail::format_of(peeked.first(), field);
  if (std::optional<error> none = detail::no_field(format, field, file)) return *std::move(none);
  result<std::vector<tokens>> lengths = detail::lengths_in(peeked, file, format, field);
  if (peeked.bad()) return error{errc::unreadable, file + ": could not be read to its end"};
  if (lengths && lengths.value().empty())
    return error{errc::invalid_input, file +
                                          ": holds no lengths, expected one decimal length a line, one JSON object a " +
                                          "line, a JSON array, CSV, a NumPy array, or a Megatron-LM .idx"};
  return lengths;
}

/// The same from a file; pipes work, but for idx.
/// Errors    unreadable: the file, too
[[nodiscard]] inline result<std::vector<tokens>> read_lengths(const std::filesystem::path& file,
                                                              lengths_format format = lengths_format::automatic,
                                                              std::string_view field = {}) {
  result<std::ifstream> in = detail::open_to_read(file);
  if (!in) return std::move(in).error();
  detail::peeked_stream peeked(in.value());
  if (format == lengths_format::automatic && detail::megatron_index::begins(peeked.first()))
    format = lengths_format::idx;
  if (format == lengths_format::idx) {
    if (std::optional<error> none = detail::no_field(format, field, file.string())) return *std::move(none);
    return detail::megatron_index(file).lengths();
  }
  return read_lengths(peeked, file.string(), format, field);
}

}  // namespace slimpack::io

#endif
