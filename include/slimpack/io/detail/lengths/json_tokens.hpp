#ifndef SLIMPACK_IO_DETAIL_LENGTHS_JSON_TOKENS_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_JSON_TOKENS_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/lengths/field.hpp>
#include <slimpack/io/detail/lengths/length_rows.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What single values of JSON say of lengths. All that is wrong is thrown as malformed.
namespace slimpack::io::detail {

struct json_value {
  std::int64_t value{};
  told how{};
};

/// Whether a number is whole: 640, and 640.0, as it is written where it was of a column that had a gap.
[[nodiscard]] inline bool is_whole(const json_place& place) {
  if (!place.raw().is_number_float()) return place.is_integer();
  const double value = place.raw().get<double>();
  return value >= 0 && value <= 9007199254740992.0 && value == static_cast<double>(static_cast<std::int64_t>(value));
}

/// The whole number there, from 0 to `most`.
[[nodiscard]] inline std::int64_t whole_in(const json_place& place, std::int64_t most) {
  const bool fits =
      place.raw().is_number_float() && is_whole(place) && place.raw().get<double>() <= static_cast<double>(most);
  return fits ? static_cast<std::int64_t>(place.raw().get<double>()) : place.integer(0, most);
}

/// How many of an attention mask are 1, or true.
[[nodiscard]] inline std::int64_t ones_in(const json_place& mask) {
  std::int64_t ones = 0;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const json_place one = mask.at(i);
    ones += one.is_integer() ? one.integer(0, 1) : std::int64_t{one.boolean()};
  }
  return ones;
}

/// How many token ids an array has that has nothing else.
[[nodiscard]] inline std::int64_t ids_in(const json_place& array) {
  for (std::size_t i = 0; i < array.size(); ++i)
    if (!array.at(i).is_integer())
      array.at(i).expected(
          "a token id: arrays of these are counted, nothing else; write the length, or the ids, that " +
          std::string("the model's tokenizer makes of it"));
  return static_cast<std::int64_t>(array.size());
}

/// How many tokens an array says. Tokenizers that were asked for tensors write the array of a sequence into another
/// one.
[[nodiscard]] inline std::int64_t tokens_in(const json_place& array, std::string_view name) {
  const auto count = [&](const json_place& flat) { return names_mask(name) ? ones_in(flat) : ids_in(flat); };
  if (array.size() == 0) return 0;
  const json_place inner = array.at(0);
  if (!inner.is_array()) return count(array);
  const std::int64_t counted = count(inner);
  if (array.size() > 1)
    array.expected("one sequence: its " + std::to_string(array.size()) +
                   " arrays are a batch of several, write each as a sample of its own");
  return counted;
}

/// A length, or how many tokens there are; `name` is what the value is called, empty where it has none.
[[nodiscard]] inline json_value value_at(const json_place& place, std::string_view name, std::int64_t most) {
  if (place.is_array()) {
    const std::int64_t count = tokens_in(place, name);
    if (names_lengths(name))
      place.expected("one length: by its name it has several lengths, and not the tokens of one sequence");
    return {count, told::counted};
  }
  if (!is_whole(place)) place.expected("a length, a whole number, or an array of token ids");
  return {whole_in(place, most), name.empty() ? told::bare : told::named};
}

/// The same, or nothing where the value says no length.
[[nodiscard]] inline std::optional<std::int64_t> any_value_at(const json_place& place, std::string_view name,
                                                              std::int64_t most) {
  try {
    return value_at(place, name, most).value;
  } catch (const malformed&) {
    return std::nullopt;
  }
}

/// How many tokens a part of a sample has: the number there, or those in the array there.
[[nodiscard]] inline std::optional<std::int64_t> part_value(const json_place& part) {
  return part.is_array() ? static_cast<std::int64_t>(part.size()) : any_value_at(part, {}, longest_supported.value);
}

/// Hands `use` what is where "a.b" leads: a member of this name, or member b of the member a. False where nothing is
/// there.
template <class Use>
[[nodiscard]] bool at_way(const json_place& object, const std::string& way, const Use& use) {
  if (const std::optional<json_place> found = object.find({way.c_str()})) {
    use(*found);
    return true;
  }
  for (std::size_t dot = way.find('.'); dot != std::string::npos; dot = way.find('.', dot + 1)) {
    const std::string head = way.substr(0, dot);
    const std::optional<json_place> inner = object.find({head.c_str()});
    if (inner && inner->is_object() && at_way(*inner, way.substr(dot + 1), use)) return true;
  }
  return false;
}

/// The value there.
[[nodiscard]] inline std::optional<json_value> find_value(const json_place& object, const std::string& way,
                                                          std::int64_t most) {
  std::optional<json_value> found;
  (void)at_way(object, way, [&](const json_place& place) { found = value_at(place, way, most); });
  return found;
}

}  // namespace slimpack::io::detail

#endif
