#ifndef SLIMPACK_IO_DETAIL_LENGTHS_DOUBTS_SAMPLE_PARTS_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_DOUBTS_SAMPLE_PARTS_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/io/detail/lengths/field.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slimpack::io::detail {

/// Whether a name says that it has the tokens, or the length, of a part of a sample: "output_ids", "prompt_len".
[[nodiscard]] inline bool names_part(std::string_view field) {
  constexpr std::string_view parts[]{"prompt", "response", "completion", "output",
                                     "chosen", "rejected", "decoder",    "answer"};
  const std::vector<std::string> words = words_of(field);
  const bool has_tokens = names_tokens(field) || names_lengths(field) || words.back() == "tokens";
  return has_tokens && words.front() != "max" && std::any_of(words.begin(), words.end(), [&](const std::string& word) {
           return std::find(std::begin(parts), std::end(parts), word) != std::end(parts);
         });
}

/// The note that samples have other parts than the field that is read, or nothing: where the parts of the first sample
/// sum up to what is read of it, they are in it. `value_of` gives what a name says of that sample, if anything.
template <class ValueOf>
[[nodiscard]] std::optional<std::string> parts_note(const std::string& read, std::int64_t value,
                                                    const std::vector<std::string>& names, const ValueOf& value_of) {
  std::string others, sum = read;
  std::int64_t in_parts = 0;
  for (const std::string& name : names) {
    if (name == read || !names_part(name)) continue;
    const std::optional<std::int64_t> part = value_of(name);
    if (!part || *part > longest_supported.value) continue;
    in_parts += *part;
    others += (others.empty() ? "" : ", ") + in_quotes(name);
    sum += "+" + shown(name);
  }
  if (others.empty() || in_parts == value) return std::nullopt;
  return in_quotes(read) + " alone is read; the file has " + others + ", too: with the field " + sum +
         " their sum is read";
}

}  // namespace slimpack::io::detail

#endif
