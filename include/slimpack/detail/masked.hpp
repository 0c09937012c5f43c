#ifndef SLIMPACK_DETAIL_MASKED_HPP
#define SLIMPACK_DETAIL_MASKED_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace slimpack::detail {

/// A character of UTF-8: its code and how many bytes it has. Of bytes that are none, the first alone, without a code.
struct utf8_character {
  static constexpr std::uint32_t none = 0xffffffff;
  std::uint32_t code{none};
  std::size_t size{1};
};

/// Requires  a text that is not empty
[[nodiscard]] constexpr utf8_character first_character(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return {};
  std::uint32_t code = first & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  return {code, size};
}

/// Whether a terminal would do something else with it than show it: the controls of ASCII and of Latin-1, and those
/// that turn the direction of writing.
[[nodiscard]] constexpr bool is_control(std::uint32_t code) noexcept {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == utf8_character::none;
}

/// Text that comes from a file or an argument, as a message or a report shows it: in one line, each control character
/// and each byte that is no UTF-8 by its number, "\x1b" or "\u202e". No more than `most` bytes of it, and then "...".
[[nodiscard]] inline std::string masked(std::string_view text, std::size_t most = std::string_view::npos) {
  std::string shown;
  while (!text.empty()) {
    const utf8_character c = first_character(text);
    std::string next(text.substr(0, c.size));
    if (is_control(c.code)) {
      char number[16];
      if (c.code != utf8_character::none && c.code > 0xff)
        std::snprintf(number, sizeof number, "\\u%04x", static_cast<unsigned>(c.code));
      else
        std::snprintf(
            number, sizeof number, "\\x%02x",
            static_cast<unsigned>(c.code == utf8_character::none ? static_cast<unsigned char>(text[0]) : c.code));
      next = number;
    }
    if (next.size() > most - shown.size()) return shown + "...";
    shown += next;
    text.remove_prefix(c.size);
  }
  return shown;
}

/// How much of a value a message shows.
inline constexpr std::size_t shown_of_value = 40;

/// A value of a file or an argument, for a message: its beginning where it is long.
[[nodiscard]] inline std::string shown(std::string_view text) { return masked(text, shown_of_value); }

/// A value of a file or an argument in quotes, cut likewise.
[[nodiscard]] inline std::string in_quotes(std::string_view text) { return '"' + shown(text) + '"'; }

}  // namespace slimpack::detail

#endif
