#ifndef SLIMPACK_IO_DETAIL_LENGTHS_OTHER_FORMAT_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_OTHER_FORMAT_HPP

#include <slimpack/core/error.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// Formats that lengths come in and that are not read here, known by their first bytes.
namespace slimpack::io::detail {

struct other_format {
  std::string_view magic;
  std::string_view is;       ///< what the file is, behind its name
  std::string_view instead;  ///< what to type: FILE and COLUMN stand for its name and the field
};

inline constexpr other_format other_formats[]{
    {"\x1f\x8b", "is compressed with gzip", "decompress it first: gzip -dk 'FILE'"},
    {"\x28\xb5\x2f\xfd", "is compressed with zstd", "decompress it first: zstd -d 'FILE'"},
    {"\xfd\x37zXZ", "is compressed with xz", "decompress it first: xz -dk 'FILE'"},
    {"BZh", "is compressed with bzip2", "decompress it first: bzip2 -dk 'FILE'"},
    {"PK\x03\x04", "is a zip archive, as NumPy's .npz and PyTorch's .pt are",
     "take the lengths out of it and save them with numpy.save or as text"},
    {"PAR1", "is a Parquet file",
     "write its column as text: python3 -c \"import pandas; "
     "pandas.read_parquet('FILE')['COLUMN'].to_csv('lengths.txt', index=False, header=False)\""},
    {"ARROW1", "is an Arrow file",
     "write its column as text: python3 -c \"import pyarrow; "
     "pyarrow.ipc.open_file('FILE').read_pandas()['COLUMN'].to_csv('lengths.txt', index=False, header=False)\""},
    {"\xff\xff\xff\xff", "is an Arrow stream, as the data sets of Hugging Face are",
     "write its column as text: python3 -c \"import pyarrow; "
     "pyarrow.ipc.open_stream('FILE').read_pandas()['COLUMN'].to_csv('lengths.txt', index=False, header=False)\""}};

/// The text with what a word stands for.
[[nodiscard]] inline std::string with(std::string_view text, std::string_view word, std::string_view meant) {
  std::string made(text);
  if (const std::size_t at = made.find(word); at != std::string::npos) made.replace(at, word.size(), meant);
  return made;
}

/// The error of a file that begins so, or none.
[[nodiscard]] inline std::optional<error> other_format_of(std::string_view first, const std::string& file,
                                                          std::string_view field) {
  for (const other_format& other : other_formats)
    if (first.starts_with(other.magic))
      return error{errc::invalid_input,
                   file + ": " + std::string(other.is) + ", which is not read here; " +
                       with(with(other.instead, "COLUMN", field.empty() ? "length" : field), "FILE", file)};
  return std::nullopt;
}

}  // namespace slimpack::io::detail

#endif
