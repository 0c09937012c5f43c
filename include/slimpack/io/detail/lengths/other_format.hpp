#ifndef SLIMPACK_IO_DETAIL_LENGTHS_OTHER_FORMAT_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_OTHER_FORMAT_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/io/detail/lengths/field.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

/// Formats that lengths and tokens come in and that are not read here, those without a magic number first, known by
/// what their first bytes say of each other.
namespace slimpack::io::detail {

/// The little-endian number of so many bytes, which must be there.
[[nodiscard]] inline std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// Source    MosaicML streaming, base/format/mds/writer.py
/// Layout    samples S u32, byte offsets of samples u32[S + 1], the first of them behind these and the columns'
///           description
[[nodiscard]] inline bool is_mds(std::string_view first) {
  if (first.size() < 12) return false;
  const std::uint64_t samples = little_endian(first, 0, 4);
  const std::uint64_t header = 4 + 4 * (samples + 1);
  std::uint64_t before = little_endian(first, 4, 4);
  if (samples == 0 || before < header || before > header + 65536) return false;
  for (std::size_t at = 8; at + 4 <= first.size() && at < header; at += 4) {
    const std::uint64_t offset = little_endian(first, at, 4);
    if (offset < before) return false;
    before = offset;
  }
  return true;
}

/// Source    TensorFlow, tsl/lib/io/record_writer.h and tsl/lib/hash/crc32c.h
/// Layout    of each record: length u64, masked CRC-32C of the length u32, the record, masked CRC-32C of the record u32
[[nodiscard]] inline bool is_tfrecord(std::string_view first) {
  if (first.size() < 12) return false;
  std::uint32_t crc = 0xffffffffU;
  for (const char c : first.substr(0, 8)) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1U ^ (0x82f63b78U & (0U - (crc & 1U)));
  }
  crc = ~crc;
  const std::uint32_t masked = (crc >> 15U | crc << 17U) + 0xa282ead8U;
  return little_endian(first, 8, 4) == masked;
}

/// Source    Hugging Face safetensors, README.md
/// Layout    size of the header u64, the header, a JSON object, then the tensors
[[nodiscard]] inline bool is_safetensors(std::string_view first) {
  return first.size() > 9 && first[8] == '{' && little_endian(first, 0, 8) >= 2 &&
         little_endian(first, 0, 8) <= 100'000'000;  // the greatest header of the format
}

/// Whether bytes are no text in an encoding that has ASCII in it.
[[nodiscard]] inline bool is_binary(std::string_view first) {
  for (const char c : first)
    if ((c >= 0 && c < '\t') || (c > '\r' && c < ' ' && c != '\x1b')) return true;
  return false;
}

/// What a file of another format is, and what to do about it. In both texts to type, FILE stands for its name, COLUMN
/// for the field that is read, and COLUMNS for the terms of its sum.
struct other_format {
  std::string_view is;       ///< behind the name of the file
  std::string_view instead;  ///< what to do; empty where `table` says it
  std::string_view module{};
  std::string_view table{};  ///< how Python's module reads these columns as a table of pandas
};

/// How it is known.
struct other_file {
  std::string_view magic;
  other_format format;
  std::size_t at{};                        ///< the magic's offset
  bool (*fits)(std::string_view first){};  ///< asked instead of the magic
};

inline constexpr other_format mosaic{"is a shard of MosaicML's streaming (MDS)",
                                     "read it with streaming.StreamingDataset, and write a length a line"};
inline constexpr other_format lance{
    "is of Lance", {}, "lance", "lance.dataset('FILE').to_table([COLUMNS]).to_pandas()"};

inline constexpr other_file other_files[]{
    {"\x1f\x8b", {"is compressed with gzip", "decompress it first: gzip -dk 'FILE'"}},
    {"\x28\xb5\x2f\xfd", {"is compressed with zstd", "decompress it first: zstd -d 'FILE'"}},
    {"\xfd\x37zXZ", {"is compressed with xz", "decompress it first: xz -dk 'FILE'"}},
    {"BZh", {"is compressed with bzip2", "decompress it first: bzip2 -dk 'FILE'"}},
    {"PK\x03\x04",
     {"is a zip archive, as NumPy's .npz, PyTorch's .pt and Excel's .xlsx are",
      "take the lengths out of it and save them with numpy.save or as text"}},
    {"PAR1", {"is a Parquet file", {}, "pandas", "pandas.read_parquet('FILE', columns=[COLUMNS])"}},
    {"ARROW1", {"is an Arrow file", {}, "pyarrow", "pyarrow.ipc.open_file('FILE').read_pandas()[[COLUMNS]]"}},
    {"\xff\xff\xff\xff",
     {"is an Arrow stream, as the data sets of Hugging Face are",
      {},
      "pyarrow",
      "pyarrow.ipc.open_stream('FILE').read_pandas()[[COLUMNS]]"}},
    {"FEA1", {"is a Feather file", {}, "pandas", "pandas.read_feather('FILE', columns=[COLUMNS])"}},
    {"ORC", {"is an ORC file", {}, "pandas", "pandas.read_orc('FILE', columns=[COLUMNS])"}},
    {"Obj\x01", {"is an Avro file", "write its lengths as text, one a line"}},
    {"\x89HDF\r\n\x1a\n",
     {"is an HDF5 file",
      "write its lengths as text: python3 -c \"import h5py, numpy; numpy.savetxt('lengths.txt', "
      "h5py.File('FILE')['COLUMN'], fmt='%d')\""}},
    {"SQLite format 3",
     {"is a data base of SQLite",
      "write its lengths as text: sqlite3 'FILE' 'SELECT COLUMN FROM table' > lengths.txt"}},
    {"ustar",
     {"is a tar archive, as the shards of WebDataset are", "tokenize its samples, and write a length a line"},
     257},
    {"\x88\xd8\x34\x01",
     {"is a shard of token ids, as llm.c reads them", "write the lengths of its documents as text, one a line"}},
    {"\xff\xfe", {"is a text in UTF-16", "write it in UTF-8: iconv -f UTF-16 -t UTF-8 'FILE' > lengths.txt"}},
    {"\xfe\xff", {"is a text in UTF-16", "write it in UTF-8: iconv -f UTF-16 -t UTF-8 'FILE' > lengths.txt"}},
    {"\x80\x02", {"is a pickle of Python", "write the lengths in it as text, one a line"}},
    {"\x80\x03", {"is a pickle of Python", "write the lengths in it as text, one a line"}},
    {"\x80\x04", {"is a pickle of Python", "write the lengths in it as text, one a line"}},
    {"\x80\x05", {"is a pickle of Python", "write the lengths in it as text, one a line"}},
    {{}, {"is a file of TFRecords", "read it with tf.data.TFRecordDataset, and write a length a line"}, 0, is_tfrecord},
    {{},
     {"is a file of safetensors",
      "save its lengths as an array: python3 -c \"import numpy, safetensors.numpy; numpy.save('lengths.npy', "
      "safetensors.numpy.load_file('FILE')['COLUMN'])\""},
     0,
     is_safetensors},
    {{}, mosaic, 0, is_mds}};

/// Folders that are data sets, known by a file or a folder in them.
struct other_folder {
  const char* has;
  other_format format;
};
inline constexpr other_folder other_folders[]{
    {"dataset_info.json",
     {"is a data set that Hugging Face saved",
      {},
      "datasets",
      "datasets.load_from_disk('FILE').to_pandas()[[COLUMNS]]"}},
    {"dataset_dict.json",
     {"is a data set of several splits that Hugging Face saved", "name the folder of one of them, train for example"}},
    {"_versions", lance},
    {"index.json", mosaic}};

/// The text with what a word stands for.
[[nodiscard]] inline std::string with(std::string_view text, std::string_view word, std::string_view meant) {
  std::string made(text);
  if (const std::size_t at = made.find(word); at != std::string::npos) made.replace(at, word.size(), meant);
  return made;
}

/// A line to type that prints the length of each row of a table: numbers as they are, arrays of integers counted, and
/// the sum of both over several columns. Nothing else is counted: it is printed as it is, or Python complains.
[[nodiscard]] inline std::string lengths_by_pandas(const other_format& format) {
  return "write its lengths as text: python3 -c \"import " + std::string(format.module) +
         "; n = lambda v: v.size if getattr(v, 'ndim', 0) == 1 and v.dtype.kind in 'iu' else v; " +
         "print(*[sum(map(n, r)) for r in " + std::string(format.table) +
         ".itertuples(index=False)], sep='\\n')\" > lengths.txt";
}

[[nodiscard]] inline error other_format_error(const other_format& format, const std::string& file,
                                              std::string_view field) {
  const std::string column(field.empty() ? *usual_fields.begin() : field);
  std::string columns;
  for (const std::string& term : terms_of(column)) columns += (columns.empty() ? "'" : ", '") + term + "'";
  const std::string instead = format.table.empty() ? std::string(format.instead) : lengths_by_pandas(format);
  return {errc::invalid_input, file + ": " + std::string(format.is) + ", which is not read here; " +
                                   with(with(with(instead, "COLUMNS", columns), "COLUMN", column), "FILE", file)};
}

/// The error of a file that begins so, or none.
[[nodiscard]] inline std::optional<error> other_format_of(std::string_view first, const std::string& file,
                                                          std::string_view field) {
  for (const other_file& other : other_files)
    if (other.fits != nullptr ? other.fits(first)
                              : first.size() >= other.at && first.substr(other.at).starts_with(other.magic))
      return other_format_error(other.format, file, field);
  return std::nullopt;
}

/// The error of a folder that is a data set, or of a file that is known by its end, or none.
[[nodiscard]] inline std::optional<error> other_path_of(const std::filesystem::path& path, std::string_view field) {
  std::error_code ignored;  // what cannot be asked for here cannot be opened either
  if (std::filesystem::is_directory(path, ignored)) {
    for (const other_folder& other : other_folders)
      if (std::filesystem::exists(path / other.has, ignored))
        return other_format_error(other.format, path.string(), field);
    return std::nullopt;
  }
  constexpr std::string_view end = "LANC";
  if (!std::filesystem::is_regular_file(path, ignored) || std::filesystem::file_size(path, ignored) < end.size())
    return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  std::string last(end.size(), ' ');
  if (in.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end) &&
      in.read(last.data(), static_cast<std::streamsize>(last.size())) && last == end)
    return other_format_error(lance, path.string(), field);
  return std::nullopt;
}

}  // namespace slimpack::io::detail

#endif
