#ifndef SLIMPACK_IO_DETAIL_LENGTHS_NPY_LENGTHS_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_NPY_LENGTHS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/detail/masked.hpp>
#include <slimpack/io/detail/lengths/read_bytes.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace slimpack::io::detail {

inline constexpr std::string_view npy_magic{"\x93NUMPY", 6};

/// Reads a NumPy array of integers as lengths.
/// Source    NumPy, numpy/lib/format.py: versions 1 to 3
/// Layout    magic, version u8 u8, size of the header u16 (version 1) or u32, both little-endian; the header, a Python
///           dictionary as numpy.save prints it: descr, fortran_order, shape; then the elements
class npy_lengths {
 public:
  npy_lengths(std::istream& in, std::string file) : in_(in), file_(std::move(file)) {}

  result<std::vector<tokens>> read() {
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
    const bool integers =
        kind && kind->size() == 3 && std::string_view("<>|=").find((*kind)[0]) != std::string_view::npos &&
        ((*kind)[1] == 'i' || (*kind)[1] == 'u') && std::string_view("1248").find((*kind)[2]) != std::string_view::npos;
    if (!integers)
      return wrong("its elements are of the type " + slimpack::detail::masked(kind.value_or("unknown"), slimpack::detail::shown_of_value) + ", not integers");
    big_endian_ = (*kind)[0] == '>';
    width_ = static_cast<std::size_t>((*kind)[2] - '0');
    is_signed_ = (*kind)[1] == 'i';
    const std::string_view shape = behind(header, "'shape': (", ")").value_or("");
    const auto [end, failed] = std::from_chars(shape.data(), shape.data() + shape.size(), count_);
    const std::string_view rest = shape.substr(static_cast<std::size_t>(end - shape.data()));
    if (failed != std::errc{} || rest != ",")
      return wrong("its shape is (" + slimpack::detail::masked(shape, slimpack::detail::shown_of_value) + "), not one dimension");
    return success();
  }

  result<std::vector<tokens>> elements() {
    std::vector<tokens> lengths;
    for (std::size_t i = 0; i < count_; ++i) {
      char element[8];
      if (!in_.read(element, static_cast<std::streamsize>(width_))) return cut_short();
      const std::uint64_t value = number({element, width_}, big_endian_);
      const bool negative = is_signed_ && value >> (8 * width_ - 1) != 0;
      if (negative || value == 0 || value > static_cast<std::uint64_t>(longest_supported.value))
        return error{errc::invalid_input, file_ + ": element " + std::to_string(i) + " is " +
                                              (negative ? "negative" : std::to_string(value)) +
                                              ", expected a length from 1 to " +
                                              std::to_string(longest_supported.value)};
      lengths.push_back({static_cast<std::int64_t>(value)});
    }
    if (in_.peek() != std::istream::traits_type::eof()) return wrong("goes on behind its elements: corrupt");
    return lengths;
  }

  std::istream& in_;
  std::string file_;
  bool big_endian_{};
  bool is_signed_{};
  std::size_t width_{};
  std::size_t count_{};
};

}  // namespace slimpack::io::detail

#endif
