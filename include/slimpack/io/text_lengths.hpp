#ifndef SLIMPACK_IO_TEXT_LENGTHS_HPP
#define SLIMPACK_IO_TEXT_LENGTHS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>

#include <filesystem>
#include <vector>

namespace slimpack::io {

/// The lengths of a file with one decimal length a line, in file order. io/lengths.hpp reads these and all other
/// formats, and takes several seconds longer to compile, since it needs a JSON parser.
/// Units     tokens, each length from 1 to longest_supported
/// Errors    unreadable: the file; invalid_input: a line that is no length, or a file without any
/// Complexity O(file size)
[[nodiscard]] result<std::vector<tokens>> read_text_lengths(const std::filesystem::path& file);

}  // namespace slimpack::io

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/io/impl/text_lengths.ipp>
#endif

#endif
