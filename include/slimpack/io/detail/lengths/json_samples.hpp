#ifndef SLIMPACK_IO_DETAIL_LENGTHS_JSON_SAMPLES_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_JSON_SAMPLES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/lengths/doubts/doubtful_columns.hpp>
#include <slimpack/io/detail/lengths/doubts/packed_samples.hpp>
#include <slimpack/io/detail/lengths/field.hpp>
#include <slimpack/io/detail/lengths/json_tokens.hpp>
#include <slimpack/io/detail/lengths/length_rows.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::io::detail {

/// Reads the lengths of samples, objects with the same members. Without a field that a user names, the first sample
/// decides which member is read, and every other sample must have it.
class json_samples {
 public:
  json_samples(std::string field, std::int64_t most) : field_(std::move(field)), most_(most) {}

  /// Reads the next sample. Throws malformed.
  [[nodiscard]] json_value next(const json_place& sample) {
    ++samples_;
    return field_.empty() ? of_usual_field(sample) : of_field(sample);
  }

  /// What all samples together say: notes, or the error that what was read are no lengths.
  [[nodiscard]] result<void> end(const std::string& file, length_rows& to) const {
    if (characters_.are_alike())
      return error{errc::invalid_input, file + ": " + usual_ +
                                            " is the number of characters of the text beside it in " +
                                            "every sample: with the field " + usual_ + " it is read as tokens"};
    if (histogram_.is_histogram(samples_))
      return error{errc::invalid_input, file + ": " + histogram_why(usual_, count_)};
    if (names_lengths_alone(field_.empty() ? usual_ : field_)) to.are_lengths_by_name();
    if (has_length_too_) to.note(length_too(field_));
    if (parts_) to.note(*parts_);
    if (const std::optional<std::string> padded = padded_.note(field_.empty() ? usual_ : field_)) to.note(*padded);
    return success();
  }

 private:
  [[noreturn]] void lacks(const json_place& sample, const std::string& field) const {
    const std::vector<std::string> names = sample.names();
    if (std::find(names.begin(), names.end(), field) != names.end())
      throw malformed(shown(field) + " is null, expected a length or an array of token ids; leave the sample out, or " +
                      std::string(name_the_field));
    throw malformed("lacks the key " + in_quotes(field) +
                    (samples_ > 1 && field_.empty() ? ", which the samples before it have, it has " : ", it has ") +
                    listed(names) + "; " + std::string(name_the_field));
  }

  [[nodiscard]] json_value of_usual_field(const json_place& sample) {
    if (usual_.empty()) {
      const std::vector<std::string> names = sample.names();
      const auto is_there = [&](const char* name) {
        return std::find(names.begin(), names.end(), name) != names.end();
      };
      const auto found = std::find_if(usual_fields.begin(), usual_fields.end(), is_there);
      if (found == usual_fields.end()) lacks(sample, *usual_fields.begin());
      usual_ = *found;
    }
    const std::optional<json_place> place = sample.find({usual_.c_str()});
    if (!place) lacks(sample, usual_);
    const json_value read = value_at(*place, usual_, most_);
    check_others(sample, read.value);
    check_packed(sample, read.value);
    if (samples_ == 1) look_at_parts(sample, read.value);
    if (read.how != told::counted)
      if (const std::optional<json_place> count = sample.find(count_fields); count && count->raw().is_number())
        histogram_.add(read.value, count->number());
    if (read.how == told::counted && !sample.find({"attention_mask"})) padded_.add(*place);
    if (read.how != told::counted)
      if (const std::optional<json_place> text = sample.find(text_fields); text && text->is_text())
        characters_.add(read.value, text->text());
    return read;
  }

  /// Sees which other parts the first sample has, and whether it has a number as histograms have.
  void look_at_parts(const json_place& sample, std::int64_t value) {
    const std::vector<std::string> names = sample.names();
    parts_ = parts_note(usual_, value, names, [&](const std::string& name) {
      const std::optional<json_place> part = sample.find({name.c_str()});
      return part ? part_value(*part) : std::nullopt;
    });
    for (const char* const count : count_fields)
      if (count_.empty() && std::find(names.begin(), names.end(), count) != names.end()) count_ = count;
  }

  /// Other members that say how many tokens the sample has must say the same.
  void check_others(const json_place& sample, std::int64_t value) const {
    const auto differ = [&](const std::string& other, std::int64_t of_other) {
      throw malformed(usual_ + " says " + std::to_string(value) + " tokens, and " + other + " says " +
                      std::to_string(of_other) + "; " + std::string(name_the_field));
    };
    for (const char* const name : length_fields) {
      if (name == usual_) continue;
      const std::optional<json_place> other = sample.find({name});
      if (!other) continue;
      if (const std::optional<std::int64_t> of_other = any_value_at(*other, name, most_);
          of_other && *of_other != value)
        differ(name, *of_other);
    }
    if (const std::optional<json_place> mask = sample.find({"attention_mask"}); mask && mask->is_array())
      if (const std::optional<std::int64_t> ones = any_value_at(*mask, "attention_mask", most_); ones && *ones != value)
        differ("attention_mask, which leaves out what is filled up,", *ones);
  }

  /// The sum over the terms of the field that the user names.
  [[nodiscard]] json_value of_field(const json_place& sample) {
    if (const std::optional<json_value> whole = find_value(sample, field_, most_)) {
      if (whole->how == told::counted && !names_mask(field_) && !sample.find({"attention_mask"}))
        (void)at_way(sample, field_, [&](const json_place& ids) { padded_.add(ids); });
      return seen(sample, *whole);
    }
    json_value sum{0, told::counted};
    for (const std::string& term : terms_of(field_)) {
      const std::optional<json_value> found = find_value(sample, term, most_);
      if (!found) lacks(sample, term);
      if (found->value > most_ - sum.value)
        throw malformed("the sum " + shown(field_) + " is more than " + std::to_string(most_));
      sum.value += found->value;
      if (found->how != told::counted) sum.how = told::named;
    }
    return seen(sample, sum);
  }

  /// Sees whether the sample has another length than the one that the user asks for.
  [[nodiscard]] json_value seen(const json_place& sample, const json_value& read) {
    if (read.how == told::counted || is_usual(field_) || has_length_too_) return read;
    const std::optional<json_place> length = sample.find({"length"});
    if (length && length->is_integer() && any_value_at(*length, "length", most_) != read.value) has_length_too_ = true;
    return read;
  }

  std::string field_;
  std::int64_t most_;
  std::string usual_;  ///< the member that is read where the user names none
  std::size_t samples_{};
  character_counts characters_;
  padded_rows padded_;
  std::optional<std::string> parts_;  ///< the note of other parts
  std::string count_;                 ///< the member that may say how often a length occurs
  histogram_rows histogram_;
  bool has_length_too_{};
};

}  // namespace slimpack::io::detail

#endif
