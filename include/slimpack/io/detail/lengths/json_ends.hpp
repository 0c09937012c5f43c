#ifndef SLIMPACK_IO_DETAIL_LENGTHS_JSON_ENDS_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_JSON_ENDS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/lengths/field.hpp>
#include <slimpack/io/detail/lengths/json_tokens.hpp>
#include <slimpack/io/detail/lengths/length_rows.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::io::detail {

/// Reads where sequences end, in JSON. Numbers that stand alone, {"end": 640} a line, are ends in one row of tokens. An
/// array of them is a row of tokens of its own, whose first sequence begins at 0. What is wrong is thrown as malformed.
class json_ends {
 public:
  json_ends(std::string field, length_rows& to) : field_(std::move(field)), to_(to) {}

  /// Of a document, of a line, or of what is in them; `way` leads there, and opens messages.
  [[nodiscard]] result<void> add(const json_place& place, const std::string& way) {
    if (place.is_object()) return add_member(place, way);
    if (place.is_array()) return add_array(place, way);
    if (rows_) place.expected("an array of ends, as there are before it");
    numbers_ = true;
    return to_.add(end_at(place), told::named, [&] { return way; });
  }

 private:
  [[nodiscard]] std::int64_t end_at(const json_place& place) const {
    if (!is_whole(place)) place.expected("the end of a sequence, a whole number, or an array of these");
    return whole_in(place, to_.most());
  }

  [[nodiscard]] result<void> add_array(const json_place& array, const std::string& way) {
    if (array.size() == 0) return success();
    const bool is_row = !array.at(0).is_object() && !array.at(0).is_array();
    if (is_row && numbers_) array.expected("the end of a sequence, a number, as there are before it");
    if (is_row) {
      rows_ = true;
      to_.begin_row();
    }
    for (std::size_t i = 0; i < array.size(); ++i) {
      const auto of_element = [&] { return way + "[" + std::to_string(i) + "]"; };
      const json_place one = array.at(i);
      result<void> added = is_row ? to_.add(end_at(one), told::named, of_element) : add(one, of_element());
      if (!added) return added;
    }
    return success();
  }

  [[nodiscard]] result<void> add_member(const json_place& object, const std::string& way) {
    if (field_.empty()) {
      const std::vector<std::string> names = object.names();
      const auto found = std::find_if(ends_fields.begin(), ends_fields.end(), [&](const char* name) {
        return std::find(names.begin(), names.end(), name) != names.end();
      });
      field_ = found == ends_fields.end() ? *ends_fields.begin() : *found;
    }
    if (names_tokens(field_) || names_mask(field_))
      throw malformed(shown(field_) + " has tokens by its name, expected ends of sequences; " +
                      std::string(name_the_field));
    std::optional<result<void>> added;
    if (!at_way(object, field_, [&](const json_place& member) { added = add(member, way + ": " + field_); }))
      throw malformed("lacks the key " + in_quotes(field_) + ", it has " + listed(object.names()) + "; " +
                      std::string(name_the_field));
    return *added;
  }

  std::string field_;
  length_rows& to_;
  bool rows_{}, numbers_{};  ///< what was found so far
};

}  // namespace slimpack::io::detail

#endif
