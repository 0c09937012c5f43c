#ifndef SLIMPACK_IO_DETAIL_MEGATRON_INDEX_HPP
#define SLIMPACK_IO_DETAIL_MEGATRON_INDEX_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/io/detail/open.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace slimpack::io::detail {

/// Reads the lengths in the index of a Megatron-LM indexed dataset, and checks all that the index says of itself.
/// Source    Megatron-LM, megatron/core/datasets/indexed_dataset.py: the index writer and reader
/// Layout    magic 9 bytes, version u64, token type u8, sequences S u64, document entries D u64, lengths i32[S],
///           byte offsets into the token file i64[S], document index i64[D], and modes i8[S] in multimodal sets;
///           little-endian, unaligned
class megatron_index {
 public:
  static constexpr std::string_view magic{"MMIDIDX\0\0", 9};

  /// Whether bytes begin so, as far as they can be told from text.
  [[nodiscard]] static bool begins(std::string_view first) { return first.starts_with(magic.substr(0, 7)); }

  explicit megatron_index(const std::filesystem::path& file) : file_(file) {}

  /// Of all sequences; empty ones have length 0.
  result<std::vector<tokens>> lengths() {
    result<std::ifstream> opened = open_to_read(file_);
    if (!opened) return std::move(opened).error();
    in_ = std::move(opened).value();
    if (result<void> fine = read_header(); !fine) return std::move(fine).error();
    std::vector<tokens> lengths;
    lengths.reserve(sequences_);  // bounded by the size of the file, which read_header has checked
    if (result<void> fine = read_lengths(lengths); !fine) return std::move(fine).error();
    if (result<void> fine = check_offsets(lengths); !fine) return std::move(fine).error();
    if (result<void> fine = check_documents(); !fine) return std::move(fine).error();
    return lengths;
  }

 private:
  static constexpr std::uint64_t header_size = 34;

  result<void> read_header() {
    std::error_code failed;
    const std::uint64_t size = std::filesystem::file_size(file_, failed);
    if (failed) return error{errc::unreadable, file_.string() + ": has no size, an index must be a regular file"};
    if (size < header_size) return wrong(size, "ends within its header of 34 bytes: truncated");
    std::array<char, magic.size()> opening{};
    in_.read(opening.data(), opening.size());
    if (std::string_view(opening.data(), opening.size()) != magic)
      return wrong(0, "does not begin with MMIDIDX: not a Megatron-LM index");
    if (const auto version = next<std::uint64_t>(); version != 1)
      return wrong(9, "version " + std::to_string(version) + ", expected 1");
    constexpr std::array<std::uint64_t, 9> sizes{0, 1, 1, 2, 4, 8, 8, 4, 2};  // by token type code, from 1
    const auto type = next<std::uint8_t>();
    if (type == 0 || type >= sizes.size()) return wrong(17, "token type " + std::to_string(type) + ", expected 1 to 8");
    token_size_ = sizes[type];
    sequences_ = next<std::uint64_t>();
    entries_ = next<std::uint64_t>();
    return check_size(size);
  }

  /// The counts must explain the file's size to the byte; divisions, since a corrupt count overflows a product.
  result<void> check_size(std::uint64_t size) {
    const std::uint64_t rest = size - header_size;
    const bool possible = sequences_ <= rest / 12 && entries_ <= (rest - 12 * sequences_) / 8;
    const std::uint64_t left = possible ? rest - 12 * sequences_ - 8 * entries_ : 1;
    if (!possible || (left != 0 && left != sequences_))
      return wrong(18, std::to_string(sequences_) + " sequences and " + std::to_string(entries_) +
                           " document entries do not make a file of " + std::to_string(size) +
                           " bytes: truncated or corrupt");
    if (sequences_ == 0) return wrong(18, "holds no sequences");
    if (entries_ == 0) return wrong(26, "has no document index");
    return success();
  }

  result<void> read_lengths(std::vector<tokens>& lengths) {
    for (std::uint64_t i = 0; i < sequences_; ++i) {
      const auto length = next<std::int32_t>();
      if (length < 0)
        return wrong(header_size + 4 * i, "sequence " + std::to_string(i) + " has length " + std::to_string(length) +
                                              ", expected at least 0");
      lengths.push_back({length});
    }
    return success();
  }

  result<void> check_offsets(const std::vector<tokens>& lengths) {
    std::uint64_t expected = 0;
    for (std::uint64_t i = 0; i < sequences_; ++i) {
      const auto offset = next<std::uint64_t>();
      if (offset != expected || offset > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
        return wrong(header_size + 4 * sequences_ + 8 * i,
                     "sequence " + std::to_string(i) + " lies at byte " + std::to_string(offset) +
                         " of the token file, the lengths before it say " + std::to_string(expected) + ": corrupt");
      expected += static_cast<std::uint64_t>(lengths[i].value) * token_size_;
    }
    return success();
  }

  result<void> check_documents() {
    std::uint64_t before = 0;
    for (std::uint64_t d = 0; d < entries_; ++d) {
      const std::uint64_t at = header_size + 12 * sequences_ + 8 * d;
      const auto entry = next<std::uint64_t>();
      const std::string named = "document entry " + std::to_string(d) + " is " + std::to_string(entry);
      if (d == 0 && entry != 0) return wrong(at, named + ", expected 0: corrupt");
      if (entry < before) return wrong(at, named + ", less than the one before it: corrupt");
      if (d + 1 == entries_ && entry != sequences_)
        return wrong(at, named + ", expected the number of sequences, " + std::to_string(sequences_) +
                             ": the dataset was not finished, end its last document and write it again");
      before = entry;
    }
    if (!in_) return wrong(0, "");
    return success();
  }

  /// A read that fails gives 0, and wrong() then tells of the failure instead of the 0.
  template <class Integer>
  Integer next() {
    std::array<char, sizeof(Integer)> raw{};
    in_.read(raw.data(), raw.size());
    std::uint64_t value = 0;
    for (std::size_t i = raw.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(raw[i]);
    return static_cast<Integer>(value);
  }

  [[nodiscard]] error wrong(std::uint64_t offset, const std::string& what) const {
    if (!in_) return {errc::unreadable, file_.string() + ": could not be read to its end"};
    return {errc::invalid_input, file_.string() + ": offset " + std::to_string(offset) + ": " + what};
  }

  std::filesystem::path file_;
  std::ifstream in_;
  std::uint64_t token_size_{};
  std::uint64_t sequences_{};
  std::uint64_t entries_{};
};

}  // namespace slimpack::io::detail

#endif
