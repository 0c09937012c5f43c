#ifndef SLIMPACK_IO_DETAIL_LENGTHS_JSON_LENGTHS_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_JSON_LENGTHS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/lengths/doubts/packed_samples.hpp>
#include <slimpack/io/detail/lengths/field.hpp>
#include <slimpack/io/detail/lengths/json_samples.hpp>
#include <slimpack/io/detail/lengths/json_tokens.hpp>
#include <slimpack/io/detail/lengths/length_rows.hpp>
#include <slimpack/io/detail/lengths/read_bytes.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Lengths in JSON: an array in a file, an object that is the whole file, or an object a line.
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

/// What stands beside a row of token ids in a document must say as many tokens. Throws malformed.
inline void check_beside(const json_place& whole, std::size_t row, std::int64_t value, const std::string& name) {
  check_packed(whole, value, row);
  const std::optional<json_place> masks = whole.find({"attention_mask"});
  if (!masks || !masks->is_array() || row >= masks->size() || names_mask(name)) return;
  const json_place mask = masks->at(row);
  if (!mask.is_array()) return;
  if (const std::int64_t ones = tokens_in(mask, "attention_mask"); ones != value)
    throw malformed(name + "[" + std::to_string(row) + "] says " + std::to_string(value) +
                    " tokens, and attention_mask, which leaves out what is filled up, says " + std::to_string(ones) +
                    "; " + std::string(name_the_field));
}

/// The rows of an array in a document. `name` is the member that has it, empty for the document itself.
[[nodiscard]] inline result<void> rows_of_array(const json_place& list, const std::string& name, json_samples& samples,
                                                const std::string& place, length_rows& to) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const json_place row = list.at(i);
    json_value read = row.is_object() ? samples.next(row) : value_at(row, name, to.most());
    if (row.is_array() && name.empty() && to.guesses())
      row.expected("a length or an object: its numbers may be tokens or lengths; they are counted as tokens with the " +
                   std::string("format json, and lengths belong into one array (jq add)"));
    if (names_lengths_alone(name)) to.are_lengths_by_name();
    if (read.how == told::bare && !name.empty()) read.how = told::named;
    const auto of_row = [&] { return place + ": " + name + "[" + std::to_string(i) + "]"; };
    if (result<void> added = to.add(read.value, read.how, of_row); !added) return added;
  }
  return success();
}

/// The member of a whole document that may have a list of lengths.
[[nodiscard]] inline std::string list_member(const json_place& whole, const std::string& field) {
  if (!field.empty()) return field;
  if (whole.find({"lengths"})) return "lengths";
  for (const char* const usual : usual_fields)
    if (whole.find({usual})) return usual;
  return *usual_fields.begin();
}

/// The rows of an object that is a whole document: those of the list in one of its members, or else the object is the
/// only sample.
[[nodiscard]] inline result<void> rows_of_object(const json_place& whole, const std::string& field,
                                                 json_samples& samples, const std::string& place, length_rows& to) {
  const std::string name = list_member(whole, field);
  std::optional<result<void>> read;
  (void)at_way(whole, name, [&](const json_place& list) {
    if (!list.is_array() || list.size() == 0) return;
    const bool numbers = list.at(0).raw().is_number();
    if (!numbers && !list.at(0).is_array()) return;
    if (numbers && to.guesses() && names_tokens(name)) return;
    if (numbers && to.guesses() && !names_lengths(name))
      list.expected(
          "lengths or tokens, and by its name it may be either: its numbers are lengths with the format json, " +
          std::string("and the tokens of one sequence with the format jsonl"));
    padded_rows padded;
    for (std::size_t i = 0; !numbers && field.empty() && i < list.size(); ++i) {
      const json_place row = list.at(i);
      const std::optional<std::vector<std::int64_t>> ids = integers_in(row);
      if (!ids) continue;
      check_beside(whole, i, static_cast<std::int64_t>(ids->size()), name);
      padded.add(row);
    }
    read = rows_of_array(list, name, samples, place, to);
    if (const std::optional<std::string> note = padded.note(name); note && !whole.find({"attention_mask"}))
      to.note(*note);
  });
  if (read) return *read;
  const json_value only = samples.next(whole);
  return to.add(only.value, only.how, [&] { return place; });
}

/// The rows of a document. `place` opens messages about it.
[[nodiscard]] inline result<void> rows_of_document(const std::string& text, const std::string& field,
                                                   const std::string& file, const std::string& place, length_rows& to) {
  to.read_as(lengths_format::json);
  json_samples samples(field, to.most());
  result<void> rows = success();
  const result<bool> read = read_json(text, place, [&](const json_place& document) {
    if (!document.is_object() && !document.is_array())
      document.expected("an array of lengths, of arrays of tokens, or of objects");
    if (to.has_ends()) {
      rows = json_ends(field, to).add(document, place);
      return true;
    }
    rows = document.is_object() ? rows_of_object(document, field, samples, place, to)
                                : rows_of_array(document, {}, samples, place, to);
    return true;
  });
  if (!read) return not_json(text, place, read.error(), true);
  if (!rows) return rows;
  return samples.end(file, to);
}

/// Reads a file that is one array or one object.
[[nodiscard]] inline result<void> json_lengths(std::istream& in, const std::string& field, const std::string& file,
                                               length_rows& to) {
  const std::string text = read_bytes(in, std::string::npos);
  const std::size_t line_end = text.find('\n');
  const auto is_json = [&](std::string_view part) {
    return read_json(part, file, [](const json_place&) { return true; });
  };
  const result<void> read = rows_of_document(text, field, file, file, to);
  if (!read && line_end != std::string::npos && !trimmed(std::string_view(text).substr(line_end + 1)).empty() &&
      is_json(std::string_view(text).substr(0, line_end)))
    return error{errc::invalid_input,
                 file + ": line 1 is a JSON document of its own, expected one array in the file, or an " +
                     "object a line such as {\"input_ids\": [1, 2]}"};
  return read;
}

/// Reads a file with an object a line; or, unless `lines_only`, with one object that is the whole file.
[[nodiscard]] inline result<void> json_line_lengths(std::istream& in, const std::string& field, const std::string& file,
                                                    bool lines_only, length_rows& to) {
  json_samples samples(field, to.most());
  json_ends ends(field, to);
  const auto add = [&](const std::string& line, std::size_t number) -> result<void> {
    const auto place = [&] { return file + ": line " + std::to_string(number); };
    if (to.has_ends()) {
      result<void> added = success();
      const result<bool> read = read_json(line, place(), [&](const json_place& one) {
        added = ends.add(one, place());
        return true;
      });
      return read ? added : not_json(line, place(), read.error(), false);
    }
    const result<json_value> read = read_json(line, place(), [&](const json_place& one) { return samples.next(one); });
    if (!read) return not_json(line, place(), read.error(), false);
    return to.add(read.value().value, read.value().how, place);
  };
  numbered_lines lines(in);
  if (!lines.next()) return success();
  std::string line(lines.line());
  std::size_t number = lines.number();
  bool has_more = true;
  if (!lines_only) {
    const std::string place = file + ": line " + std::to_string(number);
    const result<bool> first = read_json(line, place, [](const json_place&) { return true; });
    if (!first && foreign_word_in(line)) return not_json(line, place, first.error(), false);
    if (!first) {
      const std::string whole = line + "\n" + read_bytes(in, std::string::npos);
      if (read_json(whole, file, [](const json_place&) { return true; }))
        return rows_of_document(whole, field, file, file, to);
      error broken = first.error();
      broken.detail += "; of objects over several lines, jq -c . makes one line each";
      return broken;
    }
    has_more = lines.next();
    if (!has_more) return rows_of_document(line, field, file, place, to);
  }
  if (result<void> added = add(line, number); !added) return added;
  if (lines_only) has_more = lines.next();
  for (; has_more; has_more = lines.next())
    if (result<void> added = add(std::string(lines.line()), lines.number()); !added) return added;
  return samples.end(file, to);
}

}  // namespace slimpack::io::detail

#endif
