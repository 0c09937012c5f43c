#ifndef SLIMPACK_IO_DETAIL_MODEL_MODEL_KEYS_HPP
#define SLIMPACK_IO_DETAIL_MODEL_MODEL_KEYS_HPP

#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/model/model_families.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::io::detail {

/// As Python has it: whether a key says anything. null, false, 0, "" and what has no elements say nothing.
[[nodiscard]] inline bool says_something(const json& value) {
  if (value.is_null()) return false;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != 0;
  if (value.is_string()) return !value.get_ref<const std::string&>().empty();
  return !value.empty();
}

/// The keys of a language model: those that its config has, and what its family takes for the others. A key that is
/// null was left to the family's code: it is absent, and takes no default.
class model_keys {
 public:
  using names = json_place::keys;

  /// config    outlives it
  /// way       to config from the root, with a dot behind; empty for the root
  model_keys(const json_place& config, std::string way)
      : config_(config),
        way_(std::move(way)),
        type_(type_of(config)),
        family_(family_named(type_)),
        defaults_(defaults_of(family_, !way_.empty())),
        default_root_(defaults_) {
    given_.reserve(3);
    given_.push_back(config);
    for (const char* const part : {"attn_config", "ffn_config"})  // dbrx, mpt
      if (const std::optional<json_place> inner = config_.find({part}); inner && inner->is_object())
        given_.push_back(*inner);
  }
  model_keys(const model_keys&) = delete;  // places refer to it
  model_keys& operator=(const model_keys&) = delete;

  /// The first of these names that the config has, or the default.
  [[nodiscard]] std::optional<json_place> find(names asked) const {
    asked_.insert(asked_.end(), asked.begin(), asked.end());
    for (const json_place& place : given_)
      if (std::optional<json_place> found = place.find(asked)) return found;
    for (const char* const name : asked)
      for (const json_place& place : given_)
        if (place.raw().contains(name)) return std::nullopt;
    return default_root_.find(asked);
  }
  [[nodiscard]] json_place need(names asked) const {
    if (const std::optional<json_place> found = find(asked)) return *found;
    return config_.need(asked);
  }
  /// The first that says something.
  [[nodiscard]] std::optional<json_place> telling(names asked) const {
    const std::optional<json_place> found = find(asked);
    return found && says_something(found->raw()) ? found : std::nullopt;
  }
  /// Whether the config or its family has one of these names, also as null.
  [[nodiscard]] bool has(names asked) const {
    return std::any_of(asked.begin(), asked.end(),
                       [&](const char* name) { return config_.raw().contains(name) || defaults_.contains(name); });
  }
  [[nodiscard]] bool flag(const char* name) const { return telling({name}).has_value(); }

  /// A number, or a list for layers or modalities that are all alike: others are refused by name.
  template <class Integer = std::int64_t>
  [[nodiscard]] static Integer integer(const json_place& at, std::int64_t low, std::int64_t high) {
    if (!at.is_array()) return at.integer<Integer>(low, high);
    if (at.size() == 0) at.expected("a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    for (std::size_t i = 1; i < at.size(); ++i)
      if (at.raw()[i] != at.raw()[0])
        at.at(i).expected("the number before it, " + at.raw()[0].dump() + ": layers that differ in it are not priced");
    return at.at(0).integer<Integer>(low, high);
  }

  /// "text_config.sliding_window is 1024", of the first name that is there.
  [[nodiscard]] std::string described(names asked) const {
    for (const json_place& place : given_)
      for (const char* const name : asked)
        if (place.raw().contains(name) && !place.raw()[name].is_null())
          return way_ + name + " is " + shown(place.raw()[name]);
    for (const char* const name : asked)
      if (defaults_.contains(name))
        return way_ + "model_type is " + shown(json(type_)) + ", whose " + name + " is " + shown(defaults_[name]);
    return {};
  }
  /// A value in a message: cut where it is long, its control characters masked.
  [[nodiscard]] static std::string shown(const json& value) {
    std::string text = quoted(value);
    if (text.size() > 40) text = text.substr(0, 37) + "...";
    return text;
  }
  [[nodiscard]] static std::string quoted(const json& value) {
    return value.dump(-1, ' ', true, json::error_handler_t::replace);
  }

  [[nodiscard]] const std::string& type() const noexcept { return type_; }
  [[nodiscard]] const model_family* family() const noexcept { return family_; }
  [[nodiscard]] const std::string& way() const noexcept { return way_; }
  [[nodiscard]] const json_place& config() const noexcept { return config_; }

  /// "hidden_size 2304, head_dim 256": dimensions that the config leaves to its family. Empty where it has all.
  [[nodiscard]] std::string taken_dimensions() const {
    std::string all;
    const json usual = dimensions_of(family_, !way_.empty());
    for (const auto& member : usual.items())
      if (!config_.raw().contains(member.key()) && member.key() != "max_position_embeddings")
        all += (all.empty() ? "" : ", ") + member.key() + " " + member.value().dump();
    return all;
  }

  /// "foo_size, foo_groups": whole numbers above 1 that nothing asked for, but for ids of tokens and what is about
  /// positions.
  [[nodiscard]] std::string unread_numbers() const {
    std::string all;
    for (const auto& member : config_.raw().items()) {
      const std::string& name = member.key();
      const bool is_dimension = member.value().is_number_integer() && member.value() > 1;
      const bool is_id = name.size() > 3 && name.compare(name.size() - 3, 3, "_id") == 0;
      const bool is_other =
          is_id || name.find("rope") != std::string::npos || name.find("original_max") != std::string::npos;
      if (is_dimension && !is_other && std::find(asked_.begin(), asked_.end(), name) == asked_.end())
        all += (all.empty() ? "" : ", ") + quoted(json(name));
    }
    return all;
  }

 private:
  static std::string type_of(const json_place& config) {
    const std::optional<json_place> type = config.find({"model_type"});
    return type ? type->text() : std::string{};
  }
  static json defaults_of(const model_family* family, bool is_nested) {
    const model_family& like = family != nullptr ? *family : unknown_family;
    json all = like.defaults.empty() ? json::object() : json::parse(like.defaults);
    all.update(dimensions_of(family, is_nested));
    return all;
  }
  /// Those of its family that the config may leave out.
  static json dimensions_of(const model_family* family, bool is_nested) {
    if (family == nullptr || family->dimensions.empty()) return json::object();
    json all = json::parse(family->dimensions);
    if (is_nested) return all;
    const auto kv_heads = all.find("num_key_value_heads");
    return kv_heads == all.end() ? json::object() : json{{"num_key_value_heads", *kv_heads}};
  }

  const json_place& config_;
  std::string way_;
  std::string type_;
  const model_family* family_;
  json defaults_;
  json_place default_root_;
  std::vector<json_place> given_;
  mutable std::vector<std::string_view> asked_;
};

}  // namespace slimpack::io::detail

#endif
