#ifndef SLIMPACK_IO_DETAIL_LENGTHS_NPY_LENGTHS_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_NPY_LENGTHS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/io/detail/lengths/length_rows.hpp>
#include <slimpack/io/detail/lengths/read_bytes.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>

#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace slimpack::io::detail {

inline constexpr std::string_view npy_magic{"\x93NUMPY", 6};

/// Reads a NumPy array of whole numbers as lengths. Arrays that are rather token ids are refused, unless the user says
/// that they are lengths: those of less than 4 bytes an element, those with zeros, and those that length_rows refuses.
/// Source    NumPy, numpy/lib/format.py: versions 1 to 3
/// Layout    magic, version u8 u8, size of the header u16 (version 1) or u32, both little-endian; the header, a Python
///           dictionary as numpy.save prints it: descr, fortran_order, shape; then the elements
class npy_lengths {
 public:
  npy_lengths(std::istream& in, std::string file, length_rows& to) : in_(in), file_(std::move(file)), to_(to) {}

  result<void> read() {
    const std::string opening = read_bytes(in_, npy_magic.size() + 2);
    if (opening.size() != npy_magic.size() + 2 || !opening.starts_with(npy_magic))
      return wrong("does not begin as a NumPy array does");
    const char version = opening[npy_magic.size()];
    if (version < 1 || version > 3) return wrong("version " + std::to_string(version) + " of .npy is not known");
    const std::size_t width = version == 1 ? 2 : 4;
    const std::string size = read_bytes(in_, width);
    if (size.size() != width) return cut_short();
    const std::size_t header_size = number(size, false);
    const std::string header = read_bytes(in_, header_size);
    if (header.size() != header_size) return cut_short();
    if (result<void> understood = read_header(header); !understood) return std::move(understood).error();
    return elements();
  }

 private:
  [[nodiscard]] error wrong(const std::string& what) const {
    return {errc::invalid_input, file_ + ": " + what + "; save lengths with numpy.save, one dimension of integers"};
  }
  [[nodiscard]] error cut_short() const { return wrong("ends before its elements do: truncated"); }

  [[nodiscard]] static std::uint64_t number(std::string_view digits, bool big_endian) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < digits.size(); ++i)
      value = value << 8U | static_cast<unsigned char>(digits[big_endian ? i : digits.size() - 1 - i]);
    return value;
  }

  /// What stands behind a key, up to one of these characters.
  [[nodiscard]] static std::optional<std::string_view> behind(std::string_view header, std::string_view key,
                                                              std::string_view end) {
    const std::size_t at = header.find(key);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view rest = header.substr(at + key.size());
    return rest.substr(0, rest.find_first_of(end));
  }

  result<void> read_header(std::string_view header) {
    const std::optional<std::string_view> kind = behind(header, "'descr': '", "'");
    is_float_ = kind && kind->size() == 3 && (*kind)[1] == 'f' && ((*kind)[2] == '4' || (*kind)[2] == '8');
    const bool integers = kind && kind->size() == 3 &&
                          std::string_view("<>|=").find((*kind)[0]) != std::string_view::npos &&
                          ((*kind)[1] == 'i' || (*kind)[1] == 'u' || is_float_) &&
                          std::string_view("1248").find((*kind)[2]) != std::string_view::npos;
    if (!integers) return wrong("its elements are of the type " + shown(kind.value_or("unknown")) + ", not integers");
    big_endian_ = (*kind)[0] == '>';
    width_ = static_cast<std::size_t>((*kind)[2] - '0');
    is_signed_ = (*kind)[1] == 'i';
    const std::string_view shape = behind(header, "'shape': (", ")").value_or("");
    if (!read_shape(shape)) return wrong("its shape is (" + shown(shape) + "), not one dimension");
    return success();
  }

  /// "n,", "n, 1" or "1, n".
  [[nodiscard]] bool read_shape(std::string_view shape) {
    const auto next = [&](std::uint64_t& size) {
      const auto [end, failed] = std::from_chars(shape.data(), shape.data() + shape.size(), size);
      shape.remove_prefix(static_cast<std::size_t>(end - shape.data()));
      return failed == std::errc{};
    };
    std::uint64_t other = 1;
    if (!next(count_) || !shape.starts_with(",")) return false;
    shape.remove_prefix(1);
    if (shape.starts_with(" ")) shape.remove_prefix(1);
    if (shape.empty()) return true;
    if (!next(other) || !shape.empty() || (count_ != 1 && other != 1)) return false;
    count_ = count_ == 1 ? other : count_;
    return true;
  }

  /// The whole number of at least 0 that the bits of a float or of a double are, or nothing.
  [[nodiscard]] std::optional<std::uint64_t> whole(std::uint64_t bits) const {
    const double value =
        width_ == 4 ? double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))} : std::bit_cast<double>(bits);
    if (!(value >= 0 && value <= 9007199254740992.0)) return std::nullopt;
    const auto number = static_cast<std::uint64_t>(value);
    return static_cast<double>(number) == value ? std::optional(number) : std::nullopt;
  }

  [[nodiscard]] error token_ids(const std::string& why) const {
    return {errc::invalid_input, file_ + ": " + why +
                                     ", so they may be token ids; they are read with the format npy as " +
                                     "lengths, with the format cu_seqlens as ends of sequences"};
  }

  result<void> elements() {
    if (width_ < 4 && count_ > 0 && to_.guesses())
      return token_ids("its elements have " + std::to_string(8 * width_) + " bits, as token ids are stored");
    std::optional<std::uint64_t> zero;
    for (std::uint64_t i = 0; i < count_; ++i) {
      char element[8];
      if (!in_.read(element, static_cast<std::streamsize>(width_))) return cut_short();
      std::uint64_t value = number({element, width_}, big_endian_);
      if (is_float_) {
        const std::optional<std::uint64_t> is_whole = whole(value);
        if (!is_whole)
          return error{errc::invalid_input, file_ + ": element " + std::to_string(i) +
                                                " is no whole number, expected a length from 1 to " +
                                                std::to_string(to_.most())};
        value = *is_whole;
      }
      const bool negative = is_signed_ && value >> (8 * width_ - 1) != 0;
      const auto place = [&] { return file_ + ": element " + std::to_string(i); };
      if (negative || value > static_cast<std::uint64_t>(to_.most()))
        return error{errc::invalid_input, place() + " is " + (negative ? "negative" : std::to_string(value)) +
                                              ", expected a length from 1 to " + std::to_string(to_.most())};
      if (value == 0 && i > 0 && !zero) zero = i;
      if (result<void> added = to_.add(static_cast<std::int64_t>(value), told::bare, place); !added) return added;
    }
    if (in_.peek() != std::istream::traits_type::eof()) return wrong("goes on behind its elements: corrupt");
    if (zero && to_.guesses()) return token_ids("element " + std::to_string(*zero) + " of them is 0, as no length is");
    return success();
  }

  std::istream& in_;
  std::string file_;
  length_rows& to_;
  bool big_endian_{};
  bool is_signed_{};
  bool is_float_{};
  std::size_t width_{};
  std::uint64_t count_{};
};

}  // namespace slimpack::io::detail

#endif
