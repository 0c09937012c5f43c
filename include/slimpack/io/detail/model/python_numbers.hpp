#ifndef SLIMPACK_IO_DETAIL_MODEL_PYTHON_NUMBERS_HPP
#define SLIMPACK_IO_DETAIL_MODEL_PYTHON_NUMBERS_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace slimpack::io::detail {

/// JSON as Python's json module writes it may have Infinity, -Infinity and NaN for numbers. Puts in their place what
/// JSON has, outside of strings and of the same length, so that places in error messages stay right: the largest
/// numbers, and a text for NaN. None of them is a dimension.
[[nodiscard]] inline std::string without_python_numbers(std::string text) {
  constexpr std::string_view infinity = "Infinity", large = "1.0e+308", nan = "NaN", no_number = "\"?\"";
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted && text.compare(i, infinity.size(), infinity) == 0)
      text.replace(i, large.size(), large);
    else if (!quoted && text.compare(i, nan.size(), nan) == 0)
      text.replace(i, no_number.size(), no_number), i += no_number.size() - 1;
  }
  return text;
}

}  // namespace slimpack::io::detail

#endif
