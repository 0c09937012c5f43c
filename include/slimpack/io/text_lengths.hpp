#ifndef SLIMPACK_IO_TEXT_LENGTHS_HPP
#define SLIMPACK_IO_TEXT_LENGTHS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/io/detail/lengths/text_lengths.hpp>
#include <slimpack/io/detail/open.hpp>

#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

namespace slimpack::io {

/// The lengths of a file with one decimal length a line, in file order. io/lengths.hpp reads these and all other formats,
/// and takes several seconds longer to compile, since it needs a JSON parser.
/// Units     tokens, each length from 1 to longest_supported
/// Errors    unreadable: the file; invalid_input: a line that is no length, or a file without any
/// Complexity O(file size)
[[nodiscard]] inline result<std::vector<tokens>> read_text_lengths(const std::filesystem::path& file) {
  result<std::ifstream> in = detail::open_to_read(file);
  if (!in) return std::move(in).error();
  result<std::vector<tokens>> lengths = detail::lengths_of_lines(in.value(), file.string(), detail::text_length);
  if (in.value().bad()) return error{errc::unreadable, file.string() + ": could not be read to its end"};
  if (lengths && lengths.value().empty())
    return error{errc::invalid_input, file.string() + ": holds no lengths, expected one decimal length a line"};
  return lengths;
}

}  // namespace slimpack::io

#endif
