#ifndef SLIMPACK_IO_DETAIL_LENGTHS_OTHER_LAYOUT_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_OTHER_LAYOUT_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

/// Formats without a magic number, known by what their first bytes say of each other.
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

}  // namespace slimpack::io::detail

#endif
