#ifndef SLIMPACK_IO_DETAIL_LENGTHS_FIELD_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_FIELD_HPP

#include <slimpack/io/detail/numbered_lines.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace slimpack::io::detail {

/// Where lengths, or the tokens to count, are looked for when no field is named.
inline constexpr std::initializer_list<const char*> usual_fields{"length", "tokens", "input_ids"};

/// Where ends of sequences are looked for when no field is named.
inline constexpr std::initializer_list<const char*> ends_fields{
    "cu_seqlens", "cu_seqlens_q", "cu_seq_lens", "cu_seq_lens_q", "cu_lens",  "ends",
    "end",        "length",       "lengths",     "tokens",        "input_ids"};

/// Names that say how many tokens a sample has. Where samples have several, they must agree, or the user decides.
inline constexpr std::initializer_list<const char*> length_fields{
    "length",  "tokens", "input_ids",  "num_tokens",      "n_tokens",    "token_count",
    "seq_len", "seqlen", "seq_length", "sequence_length", "total_tokens"};

/// Where samples have the text that they are made of.
inline constexpr std::initializer_list<const char*> text_fields{"text", "content", "document", "story", "sentence"};

/// How a message ends that lists the fields that there are: callers add how their users name one.
inline constexpr std::string_view name_the_field = "name the field that holds the length or the tokens";

[[nodiscard]] inline bool is_usual(std::string_view field) {
  return std::find(usual_fields.begin(), usual_fields.end(), field) != usual_fields.end();
}

/// "a", "b" of "a+b".
[[nodiscard]] inline std::vector<std::string> terms_of(std::string_view field) {
  std::vector<std::string> terms;
  for (std::size_t at = 0; at <= field.size();) {
    const std::size_t plus = std::min(field.find('+', at), field.size());
    terms.emplace_back(trimmed(field.substr(at, plus - at)));
    at = plus + 1;
  }
  return terms;
}

[[nodiscard]] inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

/// The words of a name in lower case: "cu", "seqlens" of "cu_seqlens", "prompt", "length" of "promptLength".
[[nodiscard]] inline std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  bool was_lower = false;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z', lower = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (((upper && was_lower) || (!upper && !lower)) && !words.back().empty()) words.emplace_back();
    if (upper || lower) words.back() += upper ? static_cast<char>(c - 'A' + 'a') : c;
    was_lower = lower;
  }
  return words;
}

/// Whether a name says that it has lengths: an array under it holds several lengths rather than the tokens of one
/// sequence.
[[nodiscard]] inline bool names_lengths(std::string_view field) {
  const std::vector<std::string> words = words_of(field.substr(field.rfind('.') + 1));
  constexpr std::array<std::string_view, 5> said{"num", "count", "counts", "size", "sizes"};
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(said.begin(), said.end(), word) != said.end() || word.ends_with("len") || word.ends_with("lens") ||
           word.ends_with("length") || word.ends_with("lengths");
  });
}

/// Whether the first line of a file may be the name of its only column: a word, or one in quotation marks.
[[nodiscard]] inline bool is_column_name(std::string_view line) {
  if (line.size() > 2 && line.front() == '"' && line.back() == '"') line = line.substr(1, line.size() - 2);
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !line.empty() && line.size() <= 64 && is_letter(line.front()) &&
         std::all_of(line.begin(), line.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-'; });
}

/// Whether the name of the only column of a file says that it has lengths.
[[nodiscard]] inline bool is_column_of_lengths(std::string_view line) {
  if (!is_column_name(line)) return false;
  if (line.front() == '"') line = line.substr(1, line.size() - 2);
  const std::string lower = lower_case(line);
  for (const std::string_view end : {"len", "lens", "length", "lengths"})
    if (lower.ends_with(end)) return true;
  return std::find(length_fields.begin(), length_fields.end(), lower) != length_fields.end();
}

/// "640" of "640.0", as numbers are written that had a gap beside them once. "1.000" may be a number of thousands.
[[nodiscard]] inline std::string_view without_fraction(std::string_view number) {
  return number.ends_with(".0") ? number.substr(0, number.size() - 2) : number;
}

/// Whether a name says that it has lengths, and not their sums: "length", but not "cu_seqlens".
[[nodiscard]] inline bool names_lengths_alone(std::string_view field) {
  const std::vector<std::string> words = words_of(field);
  constexpr std::string_view sums[]{"cu", "cum", "cumulative", "cumsum", "acc", "accumulated", "total"};
  return names_lengths(field) && std::none_of(words.begin(), words.end(), [&](const std::string& word) {
           return std::find(std::begin(sums), std::end(sums), word) != std::end(sums);
         });
}

/// Whether a name says that it has token ids.
[[nodiscard]] inline bool names_tokens(std::string_view field) {
  const std::vector<std::string> words = words_of(field.substr(field.rfind('.') + 1));
  return !names_lengths(field) && (words.back() == "ids" || field == "tokens");
}

/// Whether a name says that it has a 1 for each token, and a 0 for each place that is filled up.
[[nodiscard]] inline bool names_mask(std::string_view field) {
  return field.substr(field.rfind('.') + 1) == "attention_mask";
}

/// The note that samples say another length than the field that a user names.
[[nodiscard]] inline std::string length_too(std::string_view field) {
  return in_quotes(field) + " is read as lengths, as asked; the file has other numbers under \"length\", too";
}

/// Sees whether lengths are the numbers of characters of texts beside them, in bytes or in code points.
class character_counts {
 public:
  void add(std::int64_t length, std::string_view text) {
    ++rows_;
    const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
    const auto points = std::count_if(text.begin(), text.end(), begins);
    if (length == static_cast<std::int64_t>(text.size()) || length == static_cast<std::int64_t>(points)) ++alike_;
  }
  [[nodiscard]] bool are_alike() const noexcept { return rows_ >= 2 && alike_ == rows_; }

 private:
  std::size_t rows_{};
  std::size_t alike_{};
};

}  // namespace slimpack::io::detail

#endif
