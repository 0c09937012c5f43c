#ifndef SLIMPACK_IO_DETAIL_MODEL_LAYER_RULES_HPP
#define SLIMPACK_IO_DETAIL_MODEL_LAYER_RULES_HPP

#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/model/further_layers.hpp>
#include <slimpack/io/detail/model/model_keys.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace slimpack::io::detail {

/// How a key says which layers it marks.
enum class marks {
  flags,    ///< a list, 1 for each marked layer and 0 for the others
  period,   ///< every n-th layer: those of which i + shift is a multiple of n
  offset,   ///< every n-th layer, from the one that the key beside says
  groups,   ///< the last layer of each whole group of n, and all behind the last whole one
  letters,  ///< a text that repeats, G for each marked layer
  names,    ///< a list of names, "sparse" for each marked layer and "dense" for the others
  indices,  ///< a list of the marked ones, or a text of them with commas between
  from,     ///< all layers from the n-th on
};

/// A key that marks layers.
struct layer_rule {
  const char* key;
  marks how;
  int shift{};           ///< of marks::period
  const char* beside{};  ///< of marks::offset
};

namespace marking {

[[nodiscard]] inline std::vector<bool> flags(const model_keys& keys, const json_place& at, int layers) {
  need_for_each_layer(keys, at, layers, "a number for each layer");
  std::vector<bool> all;
  for (int i = 0; i < layers; ++i) {
    const json_place one = at.at(static_cast<std::size_t>(i));
    all.push_back(one.raw().is_boolean() ? one.boolean() : one.integer<int>(0, 1) == 1);
  }
  return all;
}
[[nodiscard]] inline std::vector<bool> every(int n, int shift, int layers) {
  std::vector<bool> all;
  for (int i = 0; i < layers; ++i) all.push_back((i + shift) % n == 0);
  return all;
}
[[nodiscard]] inline std::vector<bool> groups(int n, int layers) {
  std::vector<bool> all = every(n, 1, layers);
  for (int i = layers / n * n; i < layers; ++i) all[static_cast<std::size_t>(i)] = true;
  return all;
}
[[nodiscard]] inline std::vector<bool> letters(const json_place& at, int layers) {
  const std::string& text = at.text();
  std::vector<bool> all;
  for (int i = 0; i < layers; ++i) all.push_back(text[static_cast<std::size_t>(i) % text.size()] == 'G');
  return all;
}
[[nodiscard]] inline std::vector<bool> names(const model_keys& keys, const json_place& at, int layers) {
  need_for_each_layer(keys, at, layers, "a name for each layer");
  std::vector<bool> all;
  for (int i = 0; i < layers; ++i) {
    const json_place one = at.at(static_cast<std::size_t>(i));
    if (one.text() != "sparse" && one.text() != "dense") one.expected("sparse or dense");
    all.push_back(one.text() == "sparse");
  }
  return all;
}
[[nodiscard]] inline std::vector<bool> indices(const json_place& at, int layers) {
  std::vector<bool> all(static_cast<std::size_t>(layers));
  if (at.raw().is_string()) {
    const std::string text = at.text() + ",";
    int number = -1;
    for (const char c : text) {
      if (c == ',' && number >= 0 && number < layers) all[static_cast<std::size_t>(number)] = true;
      if (c == ',') {
        number = -1;
      } else if (c >= '0' && c <= '9' && number < layers) {
        number = std::max(number, 0) * 10 + (c - '0');
      } else if (c != ' ') {
        at.expected("numbers of layers with commas between");
      }
    }
    return all;
  }
  for (std::size_t i = 0; i < at.size(); ++i) all[at.at(i).integer<std::size_t>(0, layers - 1)] = true;
  return all;
}
[[nodiscard]] inline std::vector<bool> from(int first, int layers) {
  std::vector<bool> all;
  for (int i = 0; i < layers; ++i) all.push_back(i >= first);
  return all;
}

}  // namespace marking

/// The layers that a key marks; nothing where neither the config nor its family has it, or where it says nothing.
/// Errors    malformed: another form than the rule's, or of other layers
[[nodiscard]] inline std::optional<std::vector<bool>> marked_by(const model_keys& keys, const layer_rule& rule,
                                                                int layers) {
  const std::optional<json_place> at = keys.telling({rule.key});
  if (!at) return std::nullopt;
  const auto count = [&] { return model_keys::integer<int>(*at, 1, 65536); };
  switch (rule.how) {
    case marks::flags:
      return marking::flags(keys, *at, layers);
    case marks::period:
      return marking::every(count(), rule.shift, layers);
    case marks::groups:
      return marking::groups(count(), layers);
    case marks::letters:
      return marking::letters(*at, layers);
    case marks::names:
      return marking::names(keys, *at, layers);
    case marks::indices:
      return marking::indices(*at, layers);
    case marks::from:
      return marking::from(count(), layers);
    case marks::offset:
      break;
  }
  const std::optional<json_place> offset = keys.find({rule.beside});
  const int n = count();
  return marking::every(n, n - (offset ? offset->integer<int>(0, n - 1) : 0), layers);
}

}  // namespace slimpack::io::detail

#endif
