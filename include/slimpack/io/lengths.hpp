#ifndef SLIMPACK_IO_LENGTHS_HPP
#define SLIMPACK_IO_LENGTHS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/io/detail/lengths/csv_lengths.hpp>
#include <slimpack/io/detail/lengths/doubts/token_ids.hpp>
#include <slimpack/io/detail/lengths/field.hpp>
#include <slimpack/io/detail/lengths/json_lengths.hpp>
#include <slimpack/io/detail/lengths/length_rows.hpp>
#include <slimpack/io/detail/lengths/npy_lengths.hpp>
#include <slimpack/io/detail/lengths/other_format.hpp>
#include <slimpack/io/detail/lengths/read_bytes.hpp>
#include <slimpack/io/detail/lengths/text_lengths.hpp>
#include <slimpack/io/detail/megatron_index.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>
#include <slimpack/io/detail/open.hpp>
#include <slimpack/io/lengths/lengths_list.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::io {

using detail::leave_empty_out;
using detail::name_the_field;

namespace detail {

/// The format of a stream that is neither idx nor npy.
[[nodiscard]] inline lengths_format format_of(std::string_view first, const lengths_options& asked) {
  if (first.starts_with("\xef\xbb\xbf")) first.remove_prefix(3);  // byte order mark
  first.remove_prefix(std::min(first.find_first_not_of(" \t\r\n"), first.size()));
  const std::string_view line = trimmed(first.substr(0, first.find('\n')));
  if (line.starts_with('{')) return lengths_format::jsonl;
  if (line.starts_with('[')) return lengths_format::json;
  const bool separated = line.find_first_of(",;\t") != std::string_view::npos;
  const bool number =
      !line.empty() && line.front() >= '0' && line.front() <= '9' && (asked.field.empty() || !separated);
  if (line.empty() || number) return lengths_format::text;
  const bool is_csv = !asked.field.empty() || separated || is_column_of_lengths(line) ||
                      (asked.format == lengths_format::cu_seqlens && is_column_name(line));
  return is_csv ? lengths_format::csv : lengths_format::text;
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
               file + ": is " + is + ", which has no field " + shown(field) + "; leave the field out"};
}

/// The rows of a stream whose format is known, and is not idx.
[[nodiscard]] inline result<void> rows_in(std::istream& in, const std::string& file, lengths_format format,
                                          const lengths_options& asked, length_rows& to) {
  if (format == lengths_format::npy) return npy_lengths(in, file, to).read();
  if (format == lengths_format::json) return json_lengths(in, asked.field, file, to);
  if (format == lengths_format::jsonl)
    return json_line_lengths(in, asked.field, file, asked.format == lengths_format::jsonl, to);
  if (format == lengths_format::text) return text_lengths(in, file, to);
  const result<csv_table> table = csv_table::read(in, file);
  if (!table) return table.error();
  return csv_lengths(table.value(), asked.field, to).read();
}

/// Reads the index of a Megatron-LM dataset.
[[nodiscard]] inline result<lengths_list> index_lengths(const std::filesystem::path& file,
                                                        const lengths_options& asked) {
  const std::string name = file.string();
  if (std::optional<error> none = no_field(lengths_format::idx, asked.field, name)) return *std::move(none);
  if (asked.format == lengths_format::cu_seqlens)
    return error{errc::invalid_input, name + ": is a Megatron-LM index, which has lengths, expected ends of sequences"};
  const result<std::vector<tokens>> all = megatron_index(file).lengths();
  if (!all) return all.error();
  length_rows rows(asked.format, asked.empty);
  for (std::size_t i = 0; i < all.value().size(); ++i) {
    const auto place = [&] { return name + ": sequence " + std::to_string(i); };
    if (result<void> added = rows.add(all.value()[i].value, told::counted, place); !added)
      return std::move(added).error();
  }
  return std::move(rows).end(name);
}

}  // namespace detail

/// Reads the lengths of the sequences of a training set, in file order, from a stream: a file that is decompressed,
/// say. Blank lines, blanks around a line and carriage returns are skipped.
/// file      opens every message
/// Data rows lengths[i] is of row rows[i] of the file. Row 0 is the first line that is not blank of text and jsonl, the
///           first record below the column names of csv, element 0 of an array of json and of npy, sequence 0 of an
///           idx. Of ends of sequences row n is the sequence that has n others before it. Plans name the sequences of
///           their batches by these numbers (plan_data)
/// Rule      what is no length is refused, not counted: members of arrays that are no integers; several arrays of
///           tokens in a sample; arrays whose name says that they have lengths; samples without the member that the
///           first one has. Where no field is named, other members of a sample that say how many tokens it has
///           (detail::length_fields) must agree. Where no format is named, numbers that rise as ends of sequences do,
///           numbers that look like token ids, and arrays of numbers in a json array, which may be tokens or lengths,
///           are refused (detail/lengths/length_rows.hpp)
/// Errors    unreadable: the stream; invalid_input: what it holds, with the line, element or byte offset; an idx, which
///           is read from its file; files of other formats, with what to do about them
///           (detail/lengths/other_format.hpp). A file without lengths is an error. Of a file no more than 40
///           characters are quoted
/// Complexity O(n log n) of n lengths, and O(file size)
[[nodiscard]] inline result<lengths_list> read_lengths_list(std::istream& in, const std::string& file,
                                                            const lengths_options& asked = {}) {
  detail::peeked_stream peeked(in);
  const std::string_view first = peeked.first();
  if (std::optional<error> other = detail::other_format_of(first, file, asked.field)) return *std::move(other);
  if (asked.format == lengths_format::idx || detail::megatron_index::begins(first))
    return error{errc::invalid_input, file + ": is a Megatron-LM index, which is read from an uncompressed file only"};
  lengths_format format = asked.format;
  if (format == lengths_format::automatic || format == lengths_format::cu_seqlens) {
    const bool is_npy = first.starts_with(detail::npy_magic);
    if (!is_npy && detail::is_binary(first))
      return error{
          errc::invalid_input,
          file + ": is binary, and of no format that is known here; write its lengths as text, " + "one a line"};
    format = is_npy ? lengths_format::npy : detail::format_of(first, asked);
  }
  if (std::optional<error> none = detail::no_field(format, asked.field, file)) return *std::move(none);
  detail::length_rows rows(asked.format, asked.empty);
  rows.read_as(format);
  const result<void> read = detail::rows_in(peeked, file, format, asked, rows);
  if (peeked.bad()) return error{errc::unreadable, file + ": could not be read to its end"};
  if (!read) return read.error();
  const std::span<const tokens> doubtful = rows.doubtful();
  if (detail::follow_as_in_text(doubtful) ||
      (format == lengths_format::npy && detail::fill_a_vocabulary(doubtful)))  // lists for trials are written as text
    return error{errc::invalid_input, file + ": its " + std::to_string(doubtful.size()) + " values look like token " +
                                          "ids, not like lengths: they are read with the format " +
                                          std::string(name_of(format)) + " as lengths"};
  return std::move(rows).end(file);
}

/// The same from a file; pipes work, but for idx.
/// Errors    unreadable: the file, too
[[nodiscard]] inline result<lengths_list> read_lengths_list(const std::filesystem::path& file,
                                                            const lengths_options& asked = {}) {
  if (std::optional<error> other = detail::other_path_of(file, asked.field)) return *std::move(other);
  result<std::ifstream> in = detail::open_to_read(file);
  if (!in) return std::move(in).error();
  detail::peeked_stream peeked(in.value());
  const bool may_be_index = asked.format == lengths_format::automatic || asked.format == lengths_format::cu_seqlens;
  if (asked.format == lengths_format::idx || (may_be_index && detail::megatron_index::begins(peeked.first())))
    return detail::index_lengths(file, asked);
  return read_lengths_list(peeked, file.string(), asked);
}

/// The lengths alone: element n is row n of the file, since empty sequences are errors.
[[nodiscard]] inline result<std::vector<tokens>> read_lengths(std::istream& in, const std::string& file,
                                                              lengths_format format = lengths_format::automatic,
                                                              std::string_view field = {}) {
  result<lengths_list> list = read_lengths_list(in, file, {format, std::string(field), empty_sequences::reject});
  if (!list) return std::move(list).error();
  return std::move(list).value().lengths;
}
[[nodiscard]] inline result<std::vector<tokens>> read_lengths(const std::filesystem::path& file,
                                                              lengths_format format = lengths_format::automatic,
                                                              std::string_view field = {}) {
  result<lengths_list> list = read_lengths_list(file, {format, std::string(field), empty_sequences::reject});
  if (!list) return std::move(list).error();
  return std::move(list).value().lengths;
}

}  // namespace slimpack::io

#endif
