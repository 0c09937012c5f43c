#ifndef SLIMPACK_IO_DETAIL_JSON_DOCUMENT_HPP
#define SLIMPACK_IO_DETAIL_JSON_DOCUMENT_HPP

#include <slimpack/detail/masked.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::io::detail {

using json = nlohmann::ordered_json;  ///< members in file order: a plan's bounds are listed, and hashed, in it

/// What is wrong with a document. Thrown by json_place and document_of, turned into an error by read_json; users never
/// meet it.
struct malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A key as messages name it.
[[nodiscard]] inline std::string shown_key(std::string_view key) { return slimpack::detail::shown(key); }

/// What nests deeper is not made by anybody who writes what is read here, and would end the program: values are
/// destroyed recursively.
inline constexpr std::size_t most_nested = 100;

/// Makes a document of what the parser of JSON meets. Each object has each key once: of two with one name, a reader
/// would take either, and nobody would know which.
/// Complexity O(1) for each value, and for an object of n members O(n log n)
class document_builder {
 public:
  // What the parser calls (nlohmann, json_sax). False would end it without a word.
  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(json::number_integer_t value) { return put(value); }
  bool number_unsigned(json::number_unsigned_t value) { return put(value); }
  bool number_float(json::number_float_t value, const json::string_t& /*as it is typed*/) { return put(value); }
  bool string(json::string_t& value) { return put(std::move(value)); }
  bool binary(json::binary_t& value) { return put(std::move(value)); }

  bool start_array(std::size_t) { return open(json::value_t::array); }
  bool start_object(std::size_t) { return open(json::value_t::object); }
  bool key(json::string_t& name) {
    open_.back().object->emplace_back(std::move(name), nullptr);
    return true;
  }
  bool end_array() {
    open_.pop_back();
    return true;
  }
  bool end_object() {
    check_keys(*open_.back().object);
    open_.pop_back();
    return true;
  }
  [[noreturn]] bool parse_error(std::size_t byte, const std::string& /*token*/, const json::exception& what) {
    // nlohmann: 406 is a number out of range; all others are of what is no JSON.
    if (what.id == 406) throw malformed(named() + "holds a number too large for a double");
    throw malformed("not JSON, or cut short: syntax error at byte " + std::to_string(byte));
  }

  [[nodiscard]] json document() && { return std::move(root_); }

 private:
  /// An array or an object whose end has not come; the other is null.
  struct container {
    json::array_t* array;
    json::object_t* object;
  };

  template <class Value>
  json& add(Value&& value) {
    if (open_.empty()) return root_ = json(std::forward<Value>(value));
    const container& into = open_.back();
    if (into.array) return into.array->emplace_back(std::forward<Value>(value));
    return into.object->back().second = json(std::forward<Value>(value));
  }
  template <class Value>
  bool put(Value&& value) {
    add(std::forward<Value>(value));
    return true;
  }
  bool open(json::value_t kind) {
    if (open_.size() == most_nested)
      throw malformed(named() + "is nested more than " + std::to_string(most_nested) + " deep");
    json& made = add(kind);
    open_.push_back({made.get_ptr<json::array_t*>(), made.get_ptr<json::object_t*>()});
    return true;
  }

  void check_keys(const json::object_t& object) const {
    const auto twice = [&](const std::string& name) {
      throw malformed(named() + "has two keys \"" + shown_key(name) + "\"");
    };
    constexpr std::ptrdiff_t few = 16;  // fewer are compared sooner than they are sorted
    const auto all = object.begin();
    if (const std::ptrdiff_t size = object.end() - all; size <= few) {
      for (std::ptrdiff_t i = 1; i < size; ++i)
        for (std::ptrdiff_t j = 0; j < i; ++j)
          if (all[i].first == all[j].first) twice(all[i].first);
      return;
    }
    std::vector<std::string_view> names;
    for (const auto& member : object) names.emplace_back(member.first);
    std::sort(names.begin(), names.end());
    if (const auto same = std::adjacent_find(names.begin(), names.end()); same != names.end())
      twice(std::string(*same));
  }

  /// The way to the innermost container that is open, "replicas[3].programs ", no longer than a line takes.
  [[nodiscard]] std::string named() const {
    std::string way;
    for (std::size_t i = 0; i + 1 < open_.size() && way.size() <= 2 * slimpack::detail::shown_of_value; ++i)
      way += open_[i].array ? "[" + std::to_string(open_[i].array->size() - 1) + "]"
                            : (i ? "." : "") + shown_key(open_[i].object->back().first);
    if (way.size() > 2 * slimpack::detail::shown_of_value)
      way = way.substr(0, 2 * slimpack::detail::shown_of_value) + "...";
    return way.empty() ? way : way + " ";
  }

  json root_;
  std::vector<container> open_;
};

/// The document of a text or a stream: whatever reads JSON parses it here.
/// Errors    malformed: not JSON; a number too large; nested too deep; an object with two keys of one name
template <class Input>
[[nodiscard]] json document_of(Input&& in) {
  document_builder made;
  static_cast<void>(json::sax_parse(std::forward<Input>(in), &made));
  return std::move(made).document();
}

}  // namespace slimpack::io::detail

#endif
