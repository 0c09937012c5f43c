#ifndef SLIMPACK_IO_IMPL_TEXT_LENGTHS_IPP
#define SLIMPACK_IO_IMPL_TEXT_LENGTHS_IPP

#include <slimpack/io/text_lengths.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/io/detail/lengths/text_lengths.hpp>
#include <slimpack/io/detail/open.hpp>

#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

namespace slimpack::io {

SLIMPACK_DECL result<std::vector<tokens>> read_text_lengths(const std::filesystem::path& file) {
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
