#ifndef SLIMPACK_IO_DETAIL_NUMBERED_LINES_HPP
#define SLIMPACK_IO_DETAIL_NUMBERED_LINES_HPP

#include <slimpack/detail/masked.hpp>

#include <algorithm>
#include <cstddef>
#include <istream>
#include <span>
#include <string>
#include <string_view>

namespace slimpack::io::detail {

/// The text without the blanks around it.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// The lines of a file that hold something, without the blanks around it.
class numbered_lines {
 public:
  explicit numbered_lines(std::istream& in) : in_(in) {}

  [[nodiscard]] bool next() {
    while (std::getline(in_, storage_)) {
      ++number_;
      line_ = storage_;
      if (number_ == 1 && line_.substr(0, 3) == "\xef\xbb\xbf") line_.remove_prefix(3);  // byte order mark
      line_ = trimmed(line_);
      if (!line_.empty()) return true;
    }
    return false;
  }
  [[nodiscard]] std::string_view line() const noexcept { return line_; }
  [[nodiscard]] std::size_t number() const noexcept { return number_; }

 private:
  std::istream& in_;
  std::string storage_;
  std::string_view line_;
  std::size_t number_{};
};

using slimpack::detail::in_quotes;
using slimpack::detail::shown;

/// Names of a file for a message, with what a nameless one is called. Long names are cut off, and so are long lists.
[[nodiscard]] inline std::string listed(std::span<const std::string> names) {
  constexpr std::size_t most = 12;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    list += (i == 0 ? "" : ", ") + (names[i].empty() ? "one without a name" : shown(names[i]));
  if (names.size() > most) list += " and " + std::to_string(names.size() - most) + " more";
  return names.empty() ? "none" : list;
}

}  // namespace slimpack::io::detail

#endif
