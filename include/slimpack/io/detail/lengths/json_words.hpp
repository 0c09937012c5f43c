#ifndef SLIMPACK_IO_DETAIL_LENGTHS_JSON_WORDS_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_JSON_WORDS_HPP

#include <slimpack/core/error.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace slimpack::io::detail {

/// A word that Python writes for a number, and that JSON does not have.
struct foreign_word {
  std::string_view word;
  std::size_t element{};  ///< of the outermost array or object, counted from 0
};

/// The first such word outside of strings.
[[nodiscard]] inline std::optional<foreign_word> foreign_word_in(std::string_view text) {
  std::size_t element = 0, depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\') ++i;
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c == ',' && depth == 1) ++element;
    for (const std::string_view word : {"NaN", "-Infinity", "Infinity"})
      if (text.substr(i).starts_with(word)) return foreign_word{word, element};
  }
  return std::nullopt;
}

/// The error of a text that is not JSON: it names such a word, if that is the reason.
[[nodiscard]] inline error not_json(std::string_view text, const std::string& place, error otherwise,
                                    bool names_element) {
  const std::optional<foreign_word> found = foreign_word_in(text);
  if (!found) return otherwise;
  return {errc::invalid_input, place + ": " + (names_element ? "element " + std::to_string(found->element) + " " : "") +
                                   "holds " + std::string(found->word) +
                                   ", a number that JSON does not have; write null there, or leave it out"};
}

}  // namespace slimpack::io::detail

#endif
