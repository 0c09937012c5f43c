#ifndef SLIMPACK_IO_DETAIL_JSON_IN_HPP
#define SLIMPACK_IO_DETAIL_JSON_IN_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/detail/masked.hpp>
#include <slimpack/io/detail/json_document.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::io::detail {

/// A place in a JSON document: a value and the way to it, spelled out only when something is wrong there.
/// Every question throws malformed, with that way, when the value is not what was asked for.
/// A place refers to the one it was reached from, which must outlive it; hence none is reached from a temporary.
class json_place {
 public:
  using keys = std::initializer_list<const char*>;

  explicit json_place(const json& root) : value_(&root) {}

  /// The member of the first of these names that is there and not null: models spell one thing in several ways.
  [[nodiscard]] std::optional<json_place> find(keys names) const& {
    if (!value_->is_object()) expected("an object");
    for (const char* name : names)
      if (const auto member = value_->find(name); member != value_->end() && !member->is_null())
        return json_place(*member, this, name, 0);
    return std::nullopt;
  }
  std::optional<json_place> find(keys) const&& = delete;

  [[nodiscard]] json_place need(keys names) const& {
    if (const std::optional<json_place> found = find(names)) return *found;
    const std::string way = path();
    throw malformed((way.empty() ? "" : way + " ") + "lacks the key \"" + *names.begin() + "\"");
  }
  json_place need(keys) const&& = delete;

  [[nodiscard]] json_place operator[](const char* name) const& { return need({name}); }
  json_place operator[](const char*) const&& = delete;

  [[nodiscard]] json_place at(std::size_t index) const& { return {(*value_)[index], this, nullptr, index}; }
  json_place at(std::size_t) const&& = delete;

  [[nodiscard]] bool is_null() const noexcept { return value_->is_null(); }
  [[nodiscard]] const json& raw() const noexcept { return *value_; }

  /// Elements of an array.
  [[nodiscard]] std::size_t size() const {
    if (!value_->is_array()) expected("an array");
    return value_->size();
  }
  void must_have(std::size_t elements, const char* meaning) const {
    if (size() != elements)
      throw malformed(path() + " has size " + std::to_string(size()) + ", expected " + std::to_string(elements) + ", " +
                      meaning);
  }
  /// Rejects members of other names: a misspelt key would otherwise be ignored.
  void must_only_have(keys known) const { must_only_have(std::span(known.begin(), known.size())); }
  void must_only_have(std::span<const char* const> known) const {
    for (const std::string& name : names())
      if (std::find(known.begin(), known.end(), std::string_view{name}) == known.end())
        throw malformed(json_place(*value_, this, name.c_str(), 0).path() + " is not a known key");
  }

  /// Names of an object's members, in file order.
  [[nodiscard]] std::vector<std::string> names() const {
    if (!value_->is_object()) expected("an object");
    std::vector<std::string> all;
    for (const auto& member : value_->items()) all.push_back(member.key());
    return all;
  }

  [[nodiscard]] bool is_array() const noexcept { return value_->is_array(); }
  [[nodiscard]] bool is_object() const noexcept { return value_->is_object(); }
  [[nodiscard]] bool is_text() const noexcept { return value_->is_string(); }
  [[nodiscard]] bool is_integer() const noexcept { return value_->is_number_integer(); }

  [[nodiscard]] bool boolean() const {
    if (!value_->is_boolean()) expected("true or false");
    return value_->get<bool>();
  }
  [[nodiscard]] const std::string& text() const {
    if (!value_->is_string()) expected("a string");
    return value_->get_ref<const std::string&>();
  }
  template <class Integer = std::int64_t>
  [[nodiscard]] Integer integer(std::int64_t low, std::int64_t high) const {
    const bool fits = value_->is_number_unsigned()
                          ? value_->get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}
                          : value_->is_number_integer();
    if (fits && value_->get<std::int64_t>() >= low && value_->get<std::int64_t>() <= high)
      return static_cast<Integer>(value_->get<std::int64_t>());
    expected("a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  /// A number of at least `low`; JSON has no infinities.
  [[nodiscard]] double number(double low = std::numeric_limits<double>::lowest()) const {
    if (value_->is_number() && value_->get<double>() >= low) return value_->get<double>();
    expected(low == std::numeric_limits<double>::lowest() ? "a number" : "a number of at least " + digits(low));
  }
  [[nodiscard]] double positive(double high) const {
    if (value_->is_number() && value_->get<double>() > 0 && value_->get<double>() <= high) return value_->get<double>();
    expected("a number above 0 and at most " + digits(high));
  }

  /// "heads is 33, expected <what>"
  [[noreturn]] void expected(const std::string& what) const {
    const std::string way = path();
    throw malformed((way.empty() ? "the document" : way) + " is " + shown() + ", expected " + what);
  }

 private:
  json_place(const json& value, const json_place* parent, const char* name, std::size_t index)
      : value_(&value), parent_(parent), name_(name), index_(index) {}

  [[nodiscard]] std::string path() const {
    if (parent_ == nullptr) return {};
    const std::string way = parent_->path();
    if (name_ == nullptr) return way + "[" + std::to_string(index_) + "]";
    return (way.empty() ? way : way + ".") + shown_key(name_);
  }
  [[nodiscard]] std::string shown() const {
    if (value_->is_structured()) return std::string("an ") + value_->type_name();
    const json shown = value_->is_string() ? json(text().substr(0, slimpack::detail::shown_of_value))
                                           : *value_;  // a text may be large
    std::string text = shown.dump(-1, ' ', true, json::error_handler_t::replace);
    if (text.size() > 40) text = text.substr(0, 37) + "...";
    return text;
  }
  [[nodiscard]] static std::string digits(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", number);
    return text;
  }

  const json* value_;
  const json_place* parent_{};
  const char* name_{};  ///< of this member; null for elements of arrays
  std::size_t index_{};
};

/// Parses JSON and hands its root to `read`. `name` opens every message.
/// Errors    invalid_input: not JSON, or malformed; unreadable: the stream failed
template <class Input, class Read>
auto read_json(Input&& in, const std::string& name, Read&& read)
    -> result<decltype(read(std::declval<const json_place&>()))> {
  try {
    const json document = document_of(std::forward<Input>(in));
    return read(json_place(document));
  } catch (const malformed& m) {
    return error{errc::invalid_input, name + ": " + m.what()};
  }
}

}  // namespace slimpack::io::detail

#endif
