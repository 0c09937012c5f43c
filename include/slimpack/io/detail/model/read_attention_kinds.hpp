#ifndef SLIMPACK_IO_DETAIL_MODEL_READ_ATTENTION_KINDS_HPP
#define SLIMPACK_IO_DETAIL_MODEL_READ_ATTENTION_KINDS_HPP

#include <slimpack/costs/model/attention_kinds.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/model/layer_rules.hpp>
#include <slimpack/io/detail/model/model_keys.hpp>
#include <slimpack/io/detail/model/unpriced_keys.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slimpack::io::detail {

/// Kinds of layers before their reach is known: `near` is a window, or a chunk where a config has those.
enum class layer_reach { full, near, state };

/// Names that layers have in lists of names.
struct layer_name {
  std::string_view name;
  layer_reach is;
};
inline constexpr layer_name layer_names[]{
    {"full_attention", layer_reach::full},
    {"attention", layer_reach::full},
    {"global_attention", layer_reach::full},
    {"global", layer_reach::full},
    {"full", layer_reach::full},
    {"sliding_attention", layer_reach::near},
    {"chunked_attention", layer_reach::near},
    {"local_attention", layer_reach::near},
    {"local", layer_reach::near},
    {"sliding_window", layer_reach::near},
    {"linear_attention", layer_reach::state},
    {"mamba", layer_reach::state},
    {"mamba2", layer_reach::state},
    {"deepseek_sparse_attention", layer_reach::full},
};

/// Keys that tell layers apart by what they attend to, the first one that is there.
struct reach_rule {
  layer_rule marks;
  layer_reach marked;
  layer_reach others;
  std::string_view type{};  ///< the model_type that alone has it so; empty: all others
};
inline constexpr const char* names_of_layers[]{"layer_types", "layers_block_type"};
inline constexpr reach_rule reach_rules[]{
    {{"hybrid_layer_pattern", marks::flags}, layer_reach::near, layer_reach::full},
    {{"attn_type_list", marks::flags}, layer_reach::full, layer_reach::state},
    {{"attn_layer_period", marks::offset, 0, "attn_layer_offset"}, layer_reach::full, layer_reach::state},
    {{"attn_layer_indices", marks::indices}, layer_reach::full, layer_reach::state},
    {{"full_attn_idxs", marks::indices}, layer_reach::full, layer_reach::state},
    {{"full_attention_interval", marks::period, 1}, layer_reach::full, layer_reach::state},
    {{"layer_group_size", marks::period, 1}, layer_reach::full, layer_reach::state},
    {{"sliding_window_pattern", marks::period, 1}, layer_reach::full, layer_reach::near},
    {{"_sliding_window_pattern", marks::period, 1}, layer_reach::full, layer_reach::near},
    {{"global_attn_every_n_layers", marks::period, 0}, layer_reach::full, layer_reach::near, "modernbert-decoder"},
    {{"global_attn_every_n_layers", marks::period, 1}, layer_reach::full, layer_reach::near},
    {{"no_rope_layers", marks::flags}, layer_reach::near, layer_reach::full},
    {{"no_rope_layer_interval", marks::period, 1}, layer_reach::full, layer_reach::near},
    {{"max_window_layers", marks::from}, layer_reach::near, layer_reach::full},
};

/// What each layer attends to, and the key that says so.
struct reaches {
  std::vector<layer_reach> layers;
  const char* key{};    ///< null: no key tells layers apart
  bool tells_states{};  ///< whether the key would say so if layers had a state
};

[[nodiscard]] inline std::vector<layer_reach> named_layers(const json_place& at, int layers) {
  need_for_each_layer(at, layers, "a name for each layer");
  std::vector<layer_reach> all;
  for (int i = 0; i < layers; ++i) {
    const json_place one = at.at(static_cast<std::size_t>(i));
    const std::string& name = one.text();
    const auto* const known = std::find_if(std::begin(layer_names), std::end(layer_names),
                                           [&](const layer_name& n) { return n.name == name; });
    if (known == std::end(layer_names))
      one.expected("a kind of layer that is known: of another one neither matrices nor attention are priced");
    all.push_back(known->is);
  }
  return all;
}

[[nodiscard]] inline reaches reaches_of(const model_keys& keys, int layers) {
  for (const char* const key : names_of_layers)
    if (const std::optional<json_place> at = keys.telling({key})) return {named_layers(*at, layers), key, true};
  const bool chunked = keys.telling({"attention_chunk_size"}).has_value();
  for (const reach_rule& rule : reach_rules) {
    const bool of_rope = std::string_view{rule.marks.key}.substr(0, 7) == "no_rope";
    if (of_rope && !chunked) continue;  // it is about positions alone
    if (!rule.type.empty() && rule.type != keys.type()) continue;
    layer_rule how = rule.marks;
    if (const std::optional<json_place> at = keys.telling({how.key}); at && at->raw().is_string())
      how.how = marks::letters;
    if (const std::optional<std::vector<bool>> marked = marked_by(keys, how, layers)) {
      std::vector<layer_reach> all;
      for (const bool is : *marked) all.push_back(is ? rule.marked : rule.others);
      return {std::move(all), rule.marks.key, rule.others == layer_reach::state};
    }
  }
  return {std::vector<layer_reach>(static_cast<std::size_t>(layers), layer_reach::near), nullptr};
}

/// What limits the keys of near layers: a key, where it says less than all positions.
inline constexpr model_keys::names window_names{
    "sliding_window",        "sliding_window_size", "interleaved_sliding_window",
    "attention_window_size", "window_size",         "local_attention"};
inline constexpr model_keys::names chunk_names{"attention_chunk_size"};
inline constexpr model_keys::names top_k_names{"index_topk"};

/// The limit that the key says; 0 where it says none.
[[nodiscard]] inline std::int64_t stated_limit(const model_keys& keys, model_keys::names asked) {
  const std::optional<json_place> at = keys.telling(asked);
  if (!at) return 0;
  return std::max<std::int64_t>(model_keys::integer(*at, -1, std::int64_t{1} << 40), 0);
}
/// Rule      use_sliding_window false means no window. Half of local_attention is before a token (modernbert)
[[nodiscard]] inline std::int64_t stated_window(const model_keys& keys) {
  if (const std::optional<json_place> uses = keys.find({"use_sliding_window"}); uses && !uses->boolean()) return 0;
  const std::optional<json_place> used = keys.telling(window_names), both_sides = keys.telling({"local_attention"});
  const std::int64_t window = stated_limit(keys, window_names);
  return used && both_sides && &used->raw() == &both_sides->raw() ? window / 2 : window;
}
[[nodiscard]] inline bool has_near(const reaches& all) {
  return std::find(all.layers.begin(), all.layers.end(), layer_reach::near) != all.layers.end();
}

/// A limit that matters: one below all positions.
[[nodiscard]] inline std::int64_t below(std::int64_t limit, std::int64_t positions) {
  return positions == 0 || limit < positions ? limit : 0;
}

/// "sliding_window is 8192: that is not below ...", where near layers have a window or chunks that matter only to
/// sequences beyond all positions; otherwise empty.
[[nodiscard]] inline std::string wide_limit_of(const model_keys& keys, const reaches& all, std::int64_t positions) {
  const std::int64_t window = stated_window(keys), limit = window > 0 ? window : stated_limit(keys, chunk_names);
  if (!has_near(all) || limit == 0 || below(limit, positions) > 0) return {};
  return keys.described(window > 0 ? window_names : chunk_names) + ": that is not below the " +
         std::to_string(positions) +
         " positions of the model, so its layers are counted as full attention; of a sequence of more than " +
         std::to_string(limit) + " tokens too many pairs are counted";
}

/// Whether layers are near without a key that says how far they reach.
/// Rule      a list of names cannot say "near" and mean full attention. Another key can, where that of the window is
///           null or switched off; max_window_layers alone says nothing
[[nodiscard]] inline bool lacks_limit(const model_keys& keys, const reaches& all) {
  if (all.key == nullptr || !has_near(all) || stated_window(keys) > 0 || stated_limit(keys, chunk_names) > 0)
    return false;
  const std::string_view key = all.key;
  if (std::find(std::begin(names_of_layers), std::end(names_of_layers), key) != std::end(names_of_layers)) return true;
  return key != "max_window_layers" && !keys.has({"use_sliding_window"}) && !keys.has(window_names);
}

/// Rule      layers by reaches_of; a near layer has a window, or chunks where there is no window, and is full where
///           these are not below all positions, or there are none. Where an indexer chooses keys, it does for all
///           layers that are full
/// Errors    malformed: near layers, of which no key says how far they reach
[[nodiscard]] inline costs::attention_kinds read_attention_kinds(const model_keys& keys, const reaches& all,
                                                                 std::int64_t positions) {
  if (lacks_limit(keys, all))
    refuse_layers(keys.described({all.key}),
                  "some layers attend to a window or a chunk, and no key that is known (sliding_window, "
                  "attention_chunk_size) says its size");
  const std::int64_t window = below(stated_window(keys), positions);
  const std::int64_t chunk = below(stated_limit(keys, chunk_names), positions);
  const std::optional<json_place> top = keys.telling(top_k_names);
  using costs::attends;
  const costs::attention_span near = window > 0  ? costs::attention_span{attends::window, window}
                                     : chunk > 0 ? costs::attention_span{attends::chunk, chunk}
                                                 : costs::attention_span{};
  costs::attention_span full;
  costs::attention_kinds made;
  if (top) {
    full = {attends::top_k, top->integer(1, std::int64_t{1} << 40)};
    const auto heads = keys.need({"index_n_heads"}).integer(1, 65536),
               width = keys.need({"index_head_dim"}).integer(1, 65536);
    made.indexer = 2 * static_cast<double>(heads * width);
  }
  for (const layer_reach one : all.layers)
    made.layers.push_back(one == layer_reach::state ? costs::attention_span{attends::state, 0}
                          : one == layer_reach::near && near.to != attends::full ? near
                                                                                 : full);
  return made;
}

/// What a kind of attention that is not priced means, and the keys that say how far it reaches; for a state it is the
/// key that tells layers apart. A kind that cost models learn to price loses its row.
struct unpriced_kind {
  costs::attends to;
  std::string_view meaning;
  const model_keys::names* keys{};
};
inline constexpr unpriced_kind unpriced_kinds[]{
    {costs::attends::window, "attend to a window of {} tokens", &window_names},
    {costs::attends::chunk, "attend inside chunks of {} tokens", &chunk_names},
    {costs::attends::top_k, "attend to {} keys that an indexer chooses", &top_k_names},
    {costs::attends::state, "have a state instead of attention"},
};

/// "sliding_window is 128: 18 of 36 layers attend to a window of 128 tokens, which is not priced", of the first such
/// kind; empty where all layers are priced.
[[nodiscard]] inline std::string unpriced_of(const model_keys& keys, const reaches& by,
                                             const costs::attention_kinds& all) {
  for (const unpriced_kind& row : unpriced_kinds) {
    const auto first =
        std::find_if(all.layers.begin(), all.layers.end(), [&](const auto& span) { return span.to == row.to; });
    if (first == all.layers.end()) continue;
    const auto count = std::count(all.layers.begin(), all.layers.end(), *first);
    std::string what(row.meaning);
    if (const std::size_t hole = what.find("{}"); hole != std::string::npos)
      what.replace(hole, 2, std::to_string(first->reach));
    const std::string key = row.keys != nullptr ? keys.described(*row.keys) : keys.described({by.key});
    return key + ": " + std::to_string(count) + " of " + std::to_string(all.layers.size()) + " layers " + what +
           ", which is not priced";
  }
  return {};
}

}  // namespace slimpack::io::detail

#endif
