#ifndef SLIMPACK_IO_IMPL_TEXT_LENGTHS_IPP
#define SLIMPACK_IO_IMPL_TEXT_LENGTHS_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/io/detail/lengths/length_rows.hpp>
#include <slimpack/io/detail/lengths/text_lengths.hpp>
#include <slimpack/io/detail/open.hpp>
#include <slimpack/io/lengths/lengths_list.hpp>
#include <slimpack/io/text_lengths.hpp>

#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

namespace slimpack::io {

SLIMPACK_DECL result<std::vector<tokens>> read_text_lengths(const std::filesystem::path& file) {
  result<std::ifstream> in = detail::open_to_read(file);
  if (!in) return std::move(in).error();
  detail::length_rows rows(lengths_format::text, empty_sequences::reject);
  const result<void> read = detail::text_lengths(in.value(), file.string(), rows);
  if (in.value().bad()) return error{errc::unreadable, file.string() + ": could not be read to its end"};
  if (!read) return read.error();
  result<lengths_list> list = std::move(rows).end(file.string());
  if (!list) return std::move(list).error();
  return std::move(list).value().lengths;
}

}  // namespace slimpack::io

#endif
