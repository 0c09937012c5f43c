#ifndef SLIMPACK_IO_DETAIL_MODEL_READ_MIXERS_HPP
#define SLIMPACK_IO_DETAIL_MODEL_READ_MIXERS_HPP

#include <slimpack/costs/model/mixer.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/model/model_keys.hpp>
#include <slimpack/io/detail/model/read_blocks.hpp>
#include <slimpack/io/detail/model/read_dimensions.hpp>
#include <slimpack/io/detail/model/read_layers.hpp>
#include <slimpack/io/detail/model/read_states.hpp>
#include <slimpack/io/detail/model/unpriced_keys.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slimpack::io::detail {

/// What limits the keys of near layers.
inline constexpr model_keys::names window_names{
    "sliding_window",        "sliding_window_size", "interleaved_sliding_window",
    "attention_window_size", "window_size",         "local_attention"};
inline constexpr model_keys::names chunk_names{"attention_chunk_size"};

/// The window that the config says; 0 where it says none.
/// Rule      use_sliding_window false means no window. Half of local_attention is before a token (modernbert)
[[nodiscard]] inline std::int64_t stated_window(const model_keys& keys) {
  if (const std::optional<json_place> uses = keys.find({"use_sliding_window"}); uses && !uses->boolean()) return 0;
  const std::optional<json_place> at = keys.find(window_names);
  if (!at) return 0;
  const std::int64_t window = model_keys::integer(*at, 1, most_tokens);
  const std::optional<json_place> both_sides = keys.find({"local_attention"});
  const bool is_half = both_sides && &at->raw() == &both_sides->raw();
  if (is_half && window < 2) at->expected("at least 2, half of them before a token");
  return is_half ? window / 2 : window;
}
[[nodiscard]] inline std::int64_t stated_chunk(const model_keys& keys) {
  const std::optional<json_place> at = keys.find(chunk_names);
  return at ? model_keys::integer(*at, 1, most_tokens) : 0;
}

/// Whether layers are near without a key that says how far they reach.
/// Rule      a list of names cannot say "near" and mean full attention. Another key can, where that of the window is
///           null or switched off; max_window_layers alone says nothing
[[nodiscard]] inline bool lacks_limit(const model_keys& keys, const layer_kinds& kinds) {
  if (kinds.key == nullptr || !kinds.has(mixes::near) || stated_window(keys) > 0 || stated_chunk(keys) > 0)
    return false;
  const std::string_view key = kinds.key;
  if (std::find(std::begin(names_of_layers), std::end(names_of_layers), key) != std::end(names_of_layers)) return true;
  return key != "max_window_layers" && !keys.has({"use_sliding_window"}) && !keys.has(window_names);
}

/// Heads of layers of one kind, under names of their own; what these leave out is as elsewhere.
struct head_names {
  model_keys::names heads, kv_heads, width, value_width;
};
inline constexpr head_names heads_of_near{
    {"swa_num_attention_heads"}, {"swa_num_key_value_heads"}, {"swa_head_dim"}, {"swa_v_head_dim"}};
inline constexpr head_names heads_of_full{{}, {"num_global_key_value_heads"}, {"global_head_dim"}, {}};

/// Errors    malformed: key heads that do not divide heads, also where the config leaves one of them to other layers
inline void read_heads(const model_keys& keys, const head_names& named, costs::mixer& to) {
  if (const std::optional<json_place> heads = keys.telling(named.heads)) to.heads = heads->integer<int>(1, widest);
  const std::optional<json_place> kv_heads = keys.telling(named.kv_heads);
  if (kv_heads) to.kv_heads = kv_heads->integer<int>(1, to.heads);
  if (to.heads % to.kv_heads != 0)
    (kv_heads ? *kv_heads : keys.need(named.heads))
        .expected(kv_heads ? "a divisor of the " + std::to_string(to.heads) + " attention heads"
                           : "a multiple of the " + std::to_string(to.kv_heads) + " key heads");
  if (const std::optional<json_place> width = keys.telling(named.width)) {
    to.head_dim = width->integer(1, widest);
    to.value_dim = to.head_dim;
  }
  if (const std::optional<json_place> width = keys.telling(named.value_width)) to.value_dim = width->integer(1, widest);
  if (to.heads * std::max(to.head_dim, to.value_dim) > widest)
    keys.need(named.heads.size() > 0 && keys.telling(named.heads) ? named.heads : named.width)
        .expected("heads x head width of at most " + std::to_string(widest));
}

/// Attention to the keys that an indexer chooses.
/// Errors    malformed: more than the model has positions
[[nodiscard]] inline costs::mixer of_chosen_keys(const model_keys& keys, costs::mixer attention,
                                                 std::int64_t positions) {
  const json_place top = keys.need({"index_topk"});
  attention.span = {costs::mixing::top_k, top.integer(1, most_tokens)};
  if (positions > 0 && attention.span.reach > positions)
    top.expected("at most the " + std::to_string(positions) + " positions of the model");
  attention.index_heads = keys.need({"index_n_heads"}).integer<int>(1, 65536);
  attention.index_width = keys.need({"index_head_dim"}).integer(1, 65536);
  return attention;
}

/// Which layers have an indexer of their own; the others take the keys that the last of these before them chose
/// (glm_moe_dsa). Empty: all have one.
/// Errors    malformed: another name; a first layer that takes keys
[[nodiscard]] inline std::vector<bool> own_indexers(const model_keys& keys, int layers) {
  std::vector<bool> own;
  const std::optional<json_place> list = keys.telling({"indexer_types"});
  if (!list) return own;
  need_for_each_layer(keys, *list, layers, "full or shared for each layer");
  for (int i = 0; i < layers; ++i) {
    const json_place one = list->at(static_cast<std::size_t>(i));
    if (one.text() != "full" && one.text() != "shared") one.expected("full or shared");
    if (i == 0 && one.text() == "shared") one.expected("full: there is no layer before it");
    own.push_back(one.text() == "full");
  }
  return own;
}

/// The mixers that layers have by their kinds.
class mixers_by_kind {
 public:
  mixers_by_kind(const model_keys& keys, const layer_kinds& kinds, const costs::model_shape& m) {
    if (kinds.has_attention()) read_attentions(keys, kinds, m);
    if (kinds.has(mixes::state)) state_ = read_state(keys, kinds, m);
  }
  [[nodiscard]] const costs::mixer& of(mixes how) const noexcept {
    switch (how) {
      case mixes::full:
        return full_;
      case mixes::near:
        return near_;
      case mixes::chosen:
        return chosen_;
      case mixes::state:
        return state_;
      case mixes::none:
        break;
    }
    return none_;
  }

 private:
  void read_attentions(const model_keys& keys, const layer_kinds& kinds, const costs::model_shape& m) {
    const costs::mixer attention = m.mixer({});
    full_ = near_ = attention;
    read_heads(keys, heads_of_full, full_);
    if (const std::int64_t window = stated_window(keys), chunk = stated_chunk(keys); window > 0 || chunk > 0) {
      near_.span = window > 0 ? costs::attention_span{costs::mixing::window, window}
                              : costs::attention_span{costs::mixing::chunks, chunk};
      read_heads(keys, heads_of_near, near_);
    } else {
      near_ = full_;
    }
    if (keys.find({"index_topk"}) || kinds.has(mixes::chosen)) {
      chosen_ = of_chosen_keys(keys, full_, m.max_positions);
      if (!kinds.has(mixes::chosen)) full_ = chosen_;
      if (near_.span.how == costs::mixing::full) near_ = full_;
    }
  }

  costs::mixer full_, near_, chosen_, state_, none_{.span = {costs::mixing::none}};
};

/// Reads which mixer each layer has.
/// Rule      layers by layer_kinds_of. A near layer has a window, or chunks where there is no window, and is full where
///           there are none. Where an indexer chooses keys, it does for all layers that are full, unless a list names
///           those that it does for. A model of full attention alone, of the same heads, has no list of mixers
/// Errors    malformed: near layers of which no key says how far they reach; a state without its dimensions
inline void read_mixers(const model_keys& keys, const layer_kinds& kinds, const std::vector<block>& blocks,
                        costs::model_shape& m) {
  if (lacks_limit(keys, kinds))
    refuse_layers(keys.described({kinds.key}),
                  "some layers attend to a window or a chunk, and no key that is known (sliding_window, "
                  "attention_chunk_size) says its size");
  const mixers_by_kind known(keys, kinds, m);
  const std::vector<bool> own = own_indexers(keys, m.layers);
  std::vector<costs::mixer> all;
  std::vector<int> which;
  for (std::size_t i = 0; i < kinds.mixers.size(); ++i) {
    costs::mixer one = known.of(blocks.empty() || blocks[i].kv_heads > 0 ? kinds.mixers[i] : mixes::none);
    if (!blocks.empty() && one.attends()) one.kv_heads = blocks[i].kv_heads;
    if (!own.empty() && !own[i]) one.index_heads = 0, one.index_width = 0;
    const auto same = std::find(all.begin(), all.end(), one);
    which.push_back(static_cast<int>(same - all.begin()));
    if (same == all.end()) all.push_back(one);
  }
  if (all.size() == 1 && all.front() == m.mixer({})) return;
  m.mixers = std::move(all);
  if (m.mixers.size() > 1) m.mixer_of = std::move(which);
}

}  // namespace slimpack::io::detail

#endif
