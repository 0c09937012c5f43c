#ifndef SLIMPACK_IO_DETAIL_MODEL_READ_EXPERTS_HPP
#define SLIMPACK_IO_DETAIL_MODEL_READ_EXPERTS_HPP

#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/model/layer_rules.hpp>
#include <slimpack/io/detail/model/model_keys.hpp>
#include <slimpack/io/detail/model/read_blocks.hpp>
#include <slimpack/io/detail/model/read_dimensions.hpp>
#include <slimpack/io/detail/model/read_layers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace slimpack::io::detail {

inline constexpr model_keys::names experts_names{"n_routed_experts", "num_local_experts", "num_experts",
                                                 "moe_num_experts"};
inline constexpr model_keys::names chosen_names{
    "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_k", "moe_topk",
    "moe_top_k",           "top_k_experts"};
inline constexpr model_keys::names expert_width_names{"moe_intermediate_size", "expert_ffn_hidden_size",
                                                      "moe_ffn_hidden_size"};
inline constexpr model_keys::names shared_names{"n_shared_experts", "num_shared_experts", "moe_num_shared_experts",
                                                "num_shared_expert"};
inline constexpr model_keys::names shared_width_names{"shared_expert_intermediate_size",
                                                      "moe_shared_expert_intermediate_size", "shared_intermediate_size",
                                                      "share_expert_dim"};
inline constexpr model_keys::names dense_first_names{"first_k_dense_replace", "num_dense_layers",
                                                     "moe_layer_start_index", "moe_layer_num_skipped"};

/// Keys that mark layers, with experts or without; a layer has them where all these agree.
struct expert_rule {
  layer_rule marks;
  bool with_experts{true};
};
inline constexpr expert_rule expert_rules[]{
    {{"moe_layers", marks::indices}},
    {{"moe_layers_enum", marks::indices}},
    {{"mlp_layer_types", marks::names}},
    {{"is_moe_layer", marks::flags}},
    {{"mlp_only_layers", marks::indices}, false},
    {{"decoder_sparse_step", marks::period, 1}},
    {{"interleave_moe_layer_step", marks::period, 1}},
    {{"moe_layer_interval", marks::period, 1}},
    {{"moe_layer_frequency", marks::period, 1}},
    {{"moe_layer_freq", marks::period, 0}},
    {{"expert_layer_period", marks::offset, 0, "expert_layer_offset"}},
};

/// Which layers have experts: by the rules above, after the first dense ones and up to moe_layer_end_index, and none
/// that is of another kind.
/// Rule      moe_layers takes the place of interleave_moe_layer_step, as in Llama 4
[[nodiscard]] inline std::vector<bool> layers_with_experts(const model_keys& keys, const layer_kinds& kinds,
                                                           int layers) {
  std::vector<bool> all;
  for (int i = 0; i < layers; ++i)
    all.push_back(kinds.behind_of(i) == follows::usual || kinds.behind_of(i) == follows::experts);
  const bool listed = keys.telling({"moe_layers", "moe_layers_enum"}).has_value();
  for (const expert_rule& rule : expert_rules) {
    if (listed && rule.marks.how == marks::period) continue;
    layer_rule how = rule.marks;
    if (const std::optional<json_place> at = keys.telling({how.key}); at && at->is_array() && how.how == marks::period)
      how.how = marks::flags;
    if (const std::optional<std::vector<bool>> marked = marked_by(keys, how, layers))
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = all[i] && (*marked)[i] == rule.with_experts;
  }
  if (const std::optional<json_place> dense = keys.find(dense_first_names)) {
    const auto first = model_keys::integer<std::size_t>(*dense, 0, layers);
    for (std::size_t i = 0; i < first; ++i) all[i] = false;
  }
  if (const std::optional<json_place> end = keys.find({"moe_layer_end_index"})) {
    const int last = model_keys::integer<int>(*end, -1, 65536);
    for (int i = last + 1; last >= 0 && i < layers; ++i) all[static_cast<std::size_t>(i)] = false;
  }
  return all;
}

/// Width of all shared experts together: their number in widths of an expert, or a width of its own for each.
[[nodiscard]] inline std::int64_t shared_width_of(const model_keys& keys, std::int64_t expert_width) {
  const std::optional<json_place> count = keys.find(shared_names), width = keys.find(shared_width_names);
  const std::int64_t shared = count ? model_keys::integer(*count, 0, most_experts) : width ? 1 : 0;
  return shared * (width ? model_keys::integer(*width, 0, widest) : expert_width);
}

/// Width of the dense MLPs.
/// Rule      Plain families leave out four times hidden_size. A list for each layer gives each its width, and the
///           largest is the model's
[[nodiscard]] inline std::int64_t mlp_width_of(const model_keys& keys, costs::model_shape& m) {
  const std::optional<json_place> given = keys.find(mlp_width_names);
  if (const std::optional<json_place> ratio = keys.find({"expansion_ratio"}); ratio && !given)
    return ratio->integer(1, 64) * m.hidden;
  if (!m.gated && !given) return 4 * m.hidden;
  const std::optional<json_place> parts = keys.find({"intermediate_parts"});
  const std::int64_t divisor = parts ? parts->integer(1, 16) : 1;
  const json_place width = keys.need(mlp_width_names);
  if (!width.is_array()) return width.integer(1, widest) / divisor;
  need_for_each_layer(keys, width, m.layers, "a width for each layer");
  std::vector<std::int64_t> all;
  for (int i = 0; i < m.layers; ++i) all.push_back(width.at(static_cast<std::size_t>(i)).integer(1, widest) / divisor);
  const std::int64_t largest = *std::max_element(all.begin(), all.end());
  if (std::count(all.begin(), all.end(), largest) != m.layers) m.mlp_widths = std::move(all);
  return largest;
}

/// Layers that have no MLP, where others of the model have one.
inline void leave_out_mlps(const layer_kinds& kinds, costs::model_shape& m) {
  if (kinds.behind.empty()) return;
  for (int i = 0; i < m.layers; ++i) m.mlp_widths.push_back(kinds.behind_of(i) == follows::dense ? m.intermediate : 0);
  if (std::count(m.mlp_widths.begin(), m.mlp_widths.end(), m.intermediate) == m.layers) m.mlp_widths.clear();
}

/// Reads experts, and which layers have them; false where none has.
inline bool read_experts(const model_keys& keys, const layer_kinds& kinds, costs::model_shape& m) {
  const std::optional<json_place> own = keys.find(expert_width_names), experts = keys.telling(experts_names);
  if (!experts || (!own && model_keys::integer<int>(*experts, 1, most_experts) == 1)) return false;
  const std::vector<bool> has = layers_with_experts(keys, kinds, m.layers);
  const auto first = std::find(has.begin(), has.end(), true);
  if (first == has.end() && !kinds.behind.empty()) return false;
  m.experts = model_keys::integer<int>(*experts, 1, most_experts);
  m.experts_per_token = model_keys::integer<int>(keys.need(chosen_names), 1, m.experts);
  m.expert_intermediate = own ? model_keys::integer(*own, 1, widest) : mlp_width_of(keys, m);
  const std::int64_t shared = shared_width_of(keys, m.expert_intermediate);
  if (shared % m.expert_intermediate == 0)
    m.shared_experts = static_cast<int>(shared / m.expert_intermediate);
  else
    m.shared_intermediate = shared;
  m.dense_layers = static_cast<int>(first - has.begin());
  if (std::find(first, has.end(), false) != has.end()) m.expert_layers = has, m.dense_layers = 0;
  return true;
}

/// Reads the MLPs of layers: dense ones, experts, and which layers have which.
/// Rule      Experts have the width of the MLP where no key says theirs, and then intermediate_size_mlp is that of
///           dense layers. One expert without a width of its own is an MLP. No width is needed of an MLP that no layer
///           has
inline void read_mlps(const model_keys& keys, const layer_kinds& kinds, const std::vector<block>& blocks,
                      costs::model_shape& m) {
  m.gated = is_gated(keys);
  if (!blocks.empty()) {
    if (keys.telling(experts_names)) refuse_layers(keys.described({"block_configs"}), "blocks have experts");
    m.intermediate = largest_of(blocks).mlp_width;
    for (const block& one : blocks) m.mlp_widths.push_back(one.mlp_width);
    if (std::count(m.mlp_widths.begin(), m.mlp_widths.end(), m.intermediate) == m.layers) m.mlp_widths.clear();
    return;
  }
  const bool has_experts = read_experts(keys, kinds, m);
  bool has_dense = false;
  for (int i = 0; i < m.layers; ++i) has_dense = has_dense || (kinds.behind_of(i) != follows::nothing && !m.is_moe(i));
  if (!has_experts) {
    const std::optional<json_place> shared = keys.telling({"shared_intermediate_size"});  // granite without experts
    if (has_dense) m.intermediate = shared ? shared->integer(1, widest) : mlp_width_of(keys, m);
  } else if (const std::optional<json_place> dense = keys.find({"intermediate_size_mlp"}); dense && has_dense) {
    m.intermediate = dense->integer(1, widest);
  } else {
    m.intermediate = has_dense || keys.find(mlp_width_names) ? mlp_width_of(keys, m) : m.expert_intermediate;
  }
  leave_out_mlps(kinds, m);
}

}  // namespace slimpack::io::detail

#endif
