#ifndef SLIMPACK_IO_DETAIL_LENGTHS_JSON_LENGTHS_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_JSON_LENGTHS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/lengths/field.hpp>
#include <slimpack/io/detail/lengths/read_bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slimpack::io::detail {

/// The number, or how many tokens an array has.
[[nodiscard]] inline tokens length_at(const json_place& place) {
  if (!place.is_array()) return tokens{place.integer(1, longest_supported.value)};
  if (place.size() == 0) place.expected("at least one token: leave empty sequences out");
  return tokens{static_cast<std::int64_t>(place.size())};
}

/// The length of a sample, an object, in the member that is named, or in the first of the usual ones.
[[nodiscard]] inline tokens length_of_sample(const json_place& sample, const std::string& field) {
  const std::optional<json_place> found = field.empty() ? sample.find(usual_fields) : sample.find({field.c_str()});
  if (found) return length_at(*found);
  std::string keys;
  for (const std::string& name : sample.names()) keys += (keys.empty() ? "" : ", ") + shown_key(name);
  constexpr std::size_t most_of_list = 400;
  throw malformed("lacks the key \"" + (field.empty() ? std::string(*usual_fields.begin()) : shown_key(field)) + "\", it has " +
                  (keys.empty() ? "none" : slimpack::detail::masked(keys, most_of_list)) + "; " + std::string(name_the_field));
}

[[nodiscard]] inline result<tokens> json_length(std::string_view line, const std::string& field,
                                                const std::string& place) {
  return read_json(line, place, [&](const json_place& sample) { return length_of_sample(sample, field); });
}

/// Of an array of lengths, of arrays of tokens, or of objects.
[[nodiscard]] inline result<std::vector<tokens>> json_lengths(std::istream& in, const std::string& field,
                                                              const std::string& file) {
  return read_json(read_bytes(in, std::string::npos), file, [&](const json_place& list) {
    if (!list.is_array()) list.expected("an array of lengths, of arrays of tokens, or of objects");
    std::vector<tokens> lengths;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const json_place sample = list.at(i);
      lengths.push_back(sample.is_object() ? length_of_sample(sample, field) : length_at(sample));
    }
    return lengths;
  });
}

}  // namespace slimpack::io::detail

#endif
