#ifndef SLIMPACK_IO_DETAIL_MODEL_READ_LAYERS_HPP
#define SLIMPACK_IO_DETAIL_MODEL_READ_LAYERS_HPP

#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/model/further_layers.hpp>
#include <slimpack/io/detail/model/layer_rules.hpp>
#include <slimpack/io/detail/model/model_keys.hpp>
#include <slimpack/io/detail/model/read_dimensions.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::io::detail {

/// How a layer mixes tokens, before its reach is known: `near` is a window, or a chunk where a config has those;
/// `chosen` are keys of an indexer.
enum class mixes : unsigned char { full, near, chosen, state, none };

/// What stands behind the mixer of a layer.
enum class follows : unsigned char {
  usual,    ///< an MLP or experts, as other keys say
  nothing,  ///< the mixer is the whole layer
  dense,    ///< an MLP
  experts
};

/// What a layer is made of, by its name in a list or by its letter in a pattern.
struct layer_name {
  std::string_view name;
  mixes how;
  follows behind{};
};
inline constexpr layer_name layer_names[]{
    {"full_attention", mixes::full},
    {"attention", mixes::full},
    {"global_attention", mixes::full},
    {"global", mixes::full},
    {"full", mixes::full},
    {"sliding_attention", mixes::near},
    {"chunked_attention", mixes::near},
    {"local_attention", mixes::near},
    {"local", mixes::near},
    {"sliding_window", mixes::near},
    {"linear_attention", mixes::state},
    {"mamba", mixes::state},
    {"mamba2", mixes::state},
    {"deepseek_sparse_attention", mixes::chosen},
    {"mlp", mixes::none, follows::dense},
    {"moe", mixes::none, follows::experts},
};
inline constexpr layer_name layer_letters[]{
    {"M", mixes::state, follows::nothing},
    {"*", mixes::full, follows::nothing},
    {"-", mixes::none, follows::dense},
    {"E", mixes::none, follows::experts},
};

/// Keys that tell layers apart by their mixers, the first one that is there.
struct mixing_rule {
  layer_rule marks;
  mixes marked;
  mixes others;
  std::string_view type{};  ///< the model_type that alone has it so; empty: all others
};
inline constexpr const char* names_of_layers[]{"layer_types", "layers_block_type"};
inline constexpr mixing_rule mixing_rules[]{
    {{"hybrid_layer_pattern", marks::flags}, mixes::near, mixes::full},
    {{"attn_type_list", marks::flags}, mixes::full, mixes::state},
    {{"attn_layer_period", marks::offset, 0, "attn_layer_offset"}, mixes::full, mixes::state},
    {{"attn_layer_indices", marks::indices}, mixes::full, mixes::state},
    {{"full_attn_idxs", marks::indices}, mixes::full, mixes::state},
    {{"full_attention_interval", marks::period, 1}, mixes::full, mixes::state},
    {{"layer_group_size", marks::groups}, mixes::full, mixes::state},
    {{"sliding_window_pattern", marks::period, 1}, mixes::full, mixes::near},
    {{"_sliding_window_pattern", marks::period, 1}, mixes::full, mixes::near},
    {{"global_attn_every_n_layers", marks::period, 0}, mixes::full, mixes::near, "modernbert-decoder"},
    {{"global_attn_every_n_layers", marks::period, 1}, mixes::full, mixes::near},
    {{"no_rope_layers", marks::flags}, mixes::near, mixes::full},
    {{"no_rope_layer_interval", marks::period, 1}, mixes::full, mixes::near},
    {{"max_window_layers", marks::from}, mixes::near, mixes::full},
};

/// What the layers of a model are made of, as far as one key says it.
struct layer_kinds {
  std::vector<mixes> mixers{};    ///< of each layer
  std::vector<follows> behind{};  ///< of each layer; empty: usual
  const char* key{};              ///< null: no key tells layers apart
  bool tells_states{};            ///< whether the key would say so if layers had a state

  [[nodiscard]] bool has(mixes how) const { return std::find(mixers.begin(), mixers.end(), how) != mixers.end(); }
  [[nodiscard]] bool has_attention() const { return has(mixes::full) || has(mixes::near) || has(mixes::chosen); }
  [[nodiscard]] follows behind_of(int layer) const {
    return behind.empty() ? follows::usual : behind[static_cast<std::size_t>(layer)];
  }
};

/// Rule      where a list has layers of an MLP alone, those of a mixer have none (nemotron_h)
[[nodiscard]] inline layer_kinds named_layers(const model_keys& keys, const char* key, const json_place& at,
                                              int layers) {
  need_for_each_layer(keys, at, layers, "a name for each layer");
  layer_kinds made{{}, {}, key, true};
  for (int i = 0; i < layers; ++i) {
    const json_place one = at.at(static_cast<std::size_t>(i));
    const std::string& name = one.text();
    const auto* const known = std::find_if(std::begin(layer_names), std::end(layer_names),
                                           [&](const layer_name& n) { return n.name == name; });
    if (known == std::end(layer_names))
      one.expected("a kind of layer that is known: of another one neither matrices nor attention are priced");
    made.mixers.push_back(known->how);
    made.behind.push_back(known->behind);
  }
  const bool apart = made.has(mixes::none);
  if (!apart) made.behind.clear();
  std::replace(made.behind.begin(), made.behind.end(), follows::usual, follows::nothing);
  return made;
}

/// A letter for each layer, as Nemotron-H has it.
[[nodiscard]] inline layer_kinds lettered_layers(const model_keys& keys, const char* key, const json_place& at,
                                                 int layers) {
  const std::string& letters = at.text();
  if (std::ssize(letters) != layers)
    throw malformed(keys.described({key}) + ", of " + std::to_string(letters.size()) + " letters, expected " +
                    std::to_string(layers) + ", one for each layer");
  layer_kinds made{{}, {}, key, true};
  for (const char& letter : letters) {
    const auto* const known = std::find_if(std::begin(layer_letters), std::end(layer_letters),
                                           [&](const layer_name& n) { return n.name.front() == letter; });
    if (known == std::end(layer_letters))
      throw malformed(keys.described({key}) + ", whose letter " + std::to_string(&letter - letters.data() + 1) +
                      " is " + model_keys::shown(json(std::string(1, letter))) +
                      ", expected M, *, - or E: a state, attention, an MLP or experts");
    made.mixers.push_back(known->how);
    made.behind.push_back(known->behind);
  }
  return made;
}

/// Kimi-Linear: two lists of layers, counted from 1.
/// Errors    malformed: a layer in none of them, or in both
[[nodiscard]] inline layer_kinds listed_layers(const json_place& config, int layers) {
  layer_kinds made{std::vector<mixes>(static_cast<std::size_t>(layers), mixes::none), {}, "linear_attn_config", true};
  for (const auto& [name, how] : {std::pair{"kda_layers", mixes::state}, std::pair{"full_attn_layers", mixes::full}}) {
    const json_place all = config.need({name});
    for (std::size_t i = 0; i < all.size(); ++i) {
      const json_place one = all.at(i);
      mixes& layer = made.mixers[one.integer<std::size_t>(1, layers) - 1];
      if (layer != mixes::none) one.expected("a layer that is listed once");
      layer = how;
    }
  }
  if (const auto left = std::find(made.mixers.begin(), made.mixers.end(), mixes::none); left != made.mixers.end())
    throw malformed("linear_attn_config lists layer " + std::to_string(left - made.mixers.begin() + 1) +
                    " neither in kda_layers nor in full_attn_layers");
  return made;
}

/// How many layers there are; of Nemotron-H the list of them may say it alone.
[[nodiscard]] inline int layers_of(const model_keys& keys) {
  if (const std::optional<json_place> list = keys.find({"layers_block_type"}); list && !keys.find(layers_names))
    if (list->size() > 0 && list->size() <= most_layers) return static_cast<int>(list->size());
  return model_keys::integer<int>(keys.need(layers_names), 1, most_layers);
}

/// A family's key all_states means that all layers are a state alone.
[[nodiscard]] inline layer_kinds layer_kinds_of(const model_keys& keys, int layers) {
  const auto count = static_cast<std::size_t>(layers);
  if (keys.flag("all_states"))
    return {std::vector<mixes>(count, mixes::state), std::vector<follows>(count, follows::nothing), "all_states", true};
  if (const std::optional<json_place> config = keys.telling({"linear_attn_config"}))
    return listed_layers(*config, layers);
  for (const char* const key : names_of_layers)
    if (const std::optional<json_place> at = keys.telling({key})) return named_layers(keys, key, *at, layers);
  if (const std::optional<json_place> at = keys.telling({"hybrid_override_pattern"}))
    return lettered_layers(keys, "hybrid_override_pattern", *at, layers);
  const bool chunked = keys.telling({"attention_chunk_size"}).has_value();
  for (const mixing_rule& rule : mixing_rules) {
    const bool of_rope = std::string_view{rule.marks.key}.substr(0, 7) == "no_rope";
    if (of_rope && !chunked) continue;  // it is about positions alone
    if (!rule.type.empty() && rule.type != keys.type()) continue;
    layer_rule how = rule.marks;
    if (const std::optional<json_place> at = keys.telling({how.key}); at && at->raw().is_string())
      how.how = marks::letters;
    if (const std::optional<std::vector<bool>> marked = marked_by(keys, how, layers)) {
      std::vector<mixes> all;
      for (const bool is : *marked) all.push_back(is ? rule.marked : rule.others);
      return {std::move(all), {}, rule.marks.key, rule.others == mixes::state};
    }
  }
  return {std::vector<mixes>(count, mixes::near), {}, nullptr, false};
}

}  // namespace slimpack::io::detail

#endif
