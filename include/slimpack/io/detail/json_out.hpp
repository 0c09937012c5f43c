#ifndef SLIMPACK_IO_DETAIL_JSON_OUT_HPP
#define SLIMPACK_IO_DETAIL_JSON_OUT_HPP

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

namespace slimpack::io::detail {

/// Length of the well-formed UTF-8 character at the front of `text`, 0 when there is none.
[[nodiscard]] inline std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool beyond = (lead == 0xed && second > 0x9f) || (lead == 0xf4 && second > 0x8f);  // surrogates, > U+10FFFF
  return overlong || beyond ? 0 : length;
}

/// Streams JSON without building it first: a trace of a large plan has hundreds of thousands of events.
/// Commas are placed by the writer; nesting is the caller's to keep. Text is safe inside an HTML script element.
class json_out {
 public:
  explicit json_out(std::ostream& out) : out_(out) { buffer_.reserve(2 * flush_at); }
  json_out(const json_out&) = delete;
  json_out& operator=(const json_out&) = delete;
  ~json_out() { flush(); }

  json_out& open(char bracket) {
    separate();
    buffer_ += bracket;
    comma_ = false;
    return *this;
  }
  json_out& close(char bracket) {
    buffer_ += bracket;
    return ended();
  }
  json_out& key(std::string_view name) {
    value(name);
    buffer_ += ':';
    comma_ = false;
    return *this;
  }
  json_out& value(std::string_view text) {
    separate();
    buffer_ += '"';
    while (!text.empty()) text.remove_prefix(quote(text));
    buffer_ += '"';
    return ended();
  }
  json_out& value(const char* text) { return value(std::string_view{text}); }
  json_out& value(bool truth) { return word(truth ? "true" : "false"); }
  json_out& value(std::integral auto number) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    return word({digits, static_cast<std::size_t>(end - digits)});
  }
  /// The shortest digits that read back exactly, without an exponent, which some readers of traces do not take.
  json_out& value(double number) {
    if (!std::isfinite(number)) return null();
    if (number == 0 && std::signbit(number)) return word("-0.0");  // "-0" is a whole number, which has no sign
    char digits[400];
    const auto end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed).ptr;
    return word({digits, static_cast<std::size_t>(end - digits)});
  }
  json_out& null() { return word("null"); }

  template <class Value>
  json_out& field(std::string_view name, const Value& v) {
    return key(name).value(v);
  }

  void line() { buffer_ += '\n'; }
  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

 private:
  static constexpr std::size_t flush_at = std::size_t{1} << 16;

  void separate() {
    if (comma_) buffer_ += ',';
  }
  json_out& word(std::string_view text) {
    separate();
    buffer_ += text;
    return ended();
  }
  json_out& ended() {
    comma_ = true;
    if (buffer_.size() >= flush_at) flush();
    return *this;
  }
  /// Writes the first character of `text` as JSON; returns how many bytes it took.
  std::size_t quote(std::string_view text) {
    const char c = text.front();
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      buffer_ += "\\ufffd";
      return 1;
    }
    const bool markup = c == '<' || c == '>' || c == '&';  // "</script>" and "<!--" must not reach an HTML parser
    if (length == 1 && (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || markup)) {
      constexpr char hex[] = "0123456789abcdef";
      buffer_ += "\\u00";
      buffer_ += hex[static_cast<unsigned char>(c) >> 4];
      buffer_ += hex[static_cast<unsigned char>(c) & 15];
    } else {
      buffer_ += text.substr(0, length);
    }
    return length;
  }

  std::ostream& out_;
  std::string buffer_;
  bool comma_{};
};

}  // namespace slimpack::io::detail

#endif
