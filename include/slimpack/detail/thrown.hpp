#ifndef SLIMPACK_DETAIL_THROWN_HPP
#define SLIMPACK_DETAIL_THROWN_HPP

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

namespace slimpack::detail {

/// Makes a call and returns what it threw, to be rethrown on another thread; null when it returned.
template <class Call>
[[nodiscard]] std::exception_ptr thrown_by(const Call& call) {
#ifdef __cpp_exceptions
  try {
    call();
  } catch (...) {
    return std::current_exception();
  }
#else
  call();
#endif
  return nullptr;
}

/// A text in one line: its first line that has a word, or what of it has 500 bytes, and how many lines come after it.
/// So an exception whose what() ends with the calls that led to it can be told in a sentence.
[[nodiscard]] inline std::string one_line(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  constexpr std::size_t longest = 500;
  const std::size_t first = std::min(text.find_first_not_of(blank), text.size());
  text = text.substr(first, text.find_last_not_of(blank) + 1 - first);
  std::string_view line = text.substr(0, text.find('\n'));
  const auto more = std::count(text.begin(), text.end(), '\n');
  bool whole = true;
  if (line.size() > longest) {
    std::size_t end = longest;  // not within a character of UTF-8
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;
    line = line.substr(0, end), whole = false;
  }
  line = line.substr(0, line.find_last_not_of(blank) + 1);
  std::string told(line);
  if (!whole) told += " ...";
  if (more > 0) told += " (and " + std::to_string(more) + (more == 1 ? " line more)" : " lines more)");
  return told;
}

}  // namespace slimpack::detail

#endif
