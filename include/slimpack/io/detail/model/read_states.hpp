#ifndef SLIMPACK_IO_DETAIL_MODEL_READ_STATES_HPP
#define SLIMPACK_IO_DETAIL_MODEL_READ_STATES_HPP

#include <slimpack/costs/model/mixer.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/model/model_keys.hpp>
#include <slimpack/io/detail/model/read_dimensions.hpp>
#include <slimpack/io/detail/model/read_layers.hpp>
#include <slimpack/io/detail/model/unpriced_keys.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace slimpack::io::detail {

/// A dimension of a state; each of its matrices stays within 64 bits.
[[nodiscard]] inline std::int64_t state_width(const json_place& from, model_keys::names asked) {
  return from.need(asked).integer(1, widest);
}
[[nodiscard]] inline std::int64_t state_width(const model_keys& keys, model_keys::names asked) {
  return model_keys::integer(keys.need(asked), 1, widest);
}

/// What one of these keys says, but for "auto"; nothing where none is there.
[[nodiscard]] inline std::optional<std::int64_t> chosen_width(const model_keys& keys, model_keys::names asked) {
  const std::optional<json_place> at = keys.find(asked);
  if (!at || (at->is_text() && at->text() == "auto")) return std::nullopt;
  return model_keys::integer(*at, 1, widest);
}

/// Errors    malformed: heads that do not divide into so many groups
inline void need_groups(const json_place& heads, std::int64_t count, std::int64_t groups) {
  if (count % groups != 0) heads.expected("a multiple of the " + std::to_string(groups) + " groups of keys");
}

/// Bytes of an element of a state.
/// Errors    malformed: a type that is not known
[[nodiscard]] inline double state_element_of(const model_keys& keys) {
  const std::optional<json_place> type = keys.find({"mamba_ssm_dtype", "mamba_ssm_cache_dtype"});
  if (!type || type->text() == "float32" || type->text() == "auto") return 4;
  if (type->text() != "bfloat16" && type->text() != "float16") type->expected("float32, bfloat16 or float16");
  return 2;
}

namespace states {

/// Kimi delta attention: queries, keys, values, heads' strengths, and two gates of a low rank, the width of a head.
[[nodiscard]] inline costs::mixer kimi_delta(const model_keys& keys, const costs::model_shape&) {
  const json_place config = *keys.telling({"linear_attn_config"});
  if (const std::optional<json_place> gate = config.find({"use_full_rank_gate"}); gate && gate->boolean())
    gate->expected("false: gates of a full rank are not priced; give times of its stages instead");
  const std::int64_t heads = state_width(config, {"num_heads"}), width = state_width(config, {"head_dim"}),
                     all = heads * width;
  return {.span = {costs::mixing::delta},
          .heads = static_cast<int>(heads),
          .kv_heads = static_cast<int>(heads),
          .head_dim = width,
          .value_dim = width,
          .in = 3 * all + 2 * width + heads,
          .inner = 2 * width * all,
          .out = all,
          .scan = 64,
          .taps = config.need({"short_conv_kernel_size"}).integer<int>(1, 1024),
          .convolved = 3 * all};
}

/// The gated delta rule: queries and keys of key heads; values, a gate and two strengths of value heads.
[[nodiscard]] inline costs::mixer gated_delta(const model_keys& keys, const costs::model_shape&) {
  const json_place heads_at = keys.need({"linear_num_value_heads"});
  const std::int64_t heads = model_keys::integer(heads_at, 1, widest),
                     groups = state_width(keys, {"linear_num_key_heads"}),
                     n = state_width(keys, {"linear_key_head_dim"}), p = state_width(keys, {"linear_value_head_dim"});
  need_groups(heads_at, heads, groups);
  const std::int64_t all_keys = groups * n, values = heads * p;
  return {.span = {costs::mixing::delta},
          .heads = static_cast<int>(heads),
          .kv_heads = static_cast<int>(groups),
          .head_dim = n,
          .value_dim = p,
          .in = 2 * all_keys + 2 * values + 2 * heads,
          .out = values,
          .scan = 64,
          .taps = keys.need({"linear_conv_kernel_dim"}).integer<int>(1, 1024),
          .convolved = 2 * all_keys + values};
}

/// Lightning attention: queries, keys, values and a gate, of the heads that attention has.
[[nodiscard]] inline costs::mixer lightning(const model_keys&, const costs::model_shape& m) {
  const std::int64_t all = m.heads * m.head_dim;
  return {.span = {costs::mixing::lightning},
          .heads = m.heads,
          .kv_heads = m.heads,
          .head_dim = m.head_dim,
          .value_dim = m.head_dim,
          .in = 4 * all,
          .out = all,
          .scan = 256};
}

inline constexpr model_keys::names dual_heads{"mamba_n_heads", "mamba_num_heads"};
inline constexpr model_keys::names state_sizes{"mamba_d_state", "ssm_state_size", "state_size"};
inline constexpr model_keys::names state_taps{"mamba_d_conv", "conv_kernel"};
inline constexpr model_keys::names state_growth{"mamba_expand", "expand"};

/// Mamba-2. Where all layers are such states, heads have the names that elsewhere those of attention have.
/// Errors    malformed: heads and their width that do not make up the inner width that the config says
[[nodiscard]] inline costs::mixer dual(const model_keys& keys, const costs::model_shape& m) {
  const bool alone = keys.flag("all_states");
  const json_place heads_at = keys.need(alone ? heads_names : dual_heads);
  const std::int64_t heads = model_keys::integer(heads_at, 1, widest), n = state_width(keys, state_sizes),
                     groups = state_width(keys, {"mamba_n_groups", "n_groups"});
  need_groups(heads_at, heads, groups);
  std::optional<std::int64_t> width = chosen_width(keys, {"mamba_d_head", "mamba_head_dim"});
  if (alone) width = chosen_width(keys, {"head_dim"});
  if (!width) {
    const std::int64_t inner = state_width(keys, state_growth) * m.hidden;
    if (inner % heads != 0) heads_at.expected("a divisor of the inner width " + std::to_string(inner));
    width = inner / heads;
  }
  const std::int64_t inner = heads * *width;
  return {.span = {costs::mixing::dual},
          .heads = static_cast<int>(heads),
          .kv_heads = static_cast<int>(groups),
          .head_dim = n,
          .value_dim = *width,
          .in = 2 * inner + 2 * groups * n + heads,
          .out = inner,
          .scan = state_width(keys, {"mamba_chunk_size", "chunk_size"}),
          .taps = keys.need(state_taps).integer<int>(1, 1024),
          .convolved = inner + 2 * groups * n};
}

/// Mamba: each channel is a head. Between the projections it has those to steps and to both matrices of a state. Where
/// all layers are such states, intermediate_size says the inner width.
[[nodiscard]] inline costs::mixer selective(const model_keys& keys, const costs::model_shape& m) {
  const std::optional<std::int64_t> said =
      keys.flag("all_states") ? chosen_width(keys, {"intermediate_size"}) : std::nullopt;
  const std::int64_t inner = said ? *said : state_width(keys, state_growth) * m.hidden,
                     n = state_width(keys, state_sizes),
                     rank = chosen_width(keys, {"mamba_dt_rank", "time_step_rank"}).value_or((m.hidden + 15) / 16);
  return {.span = {costs::mixing::selective},
          .heads = static_cast<int>(std::min(inner, 16 * widest)),
          .kv_heads = 1,
          .head_dim = n,
          .value_dim = 1,
          .in = 2 * inner,
          .inner = inner * (rank + 2 * n) + rank * inner,
          .out = inner,
          .taps = keys.need(state_taps).integer<int>(1, 1024),
          .convolved = inner};
}

}  // namespace states

/// Which state layers have, by the first of these keys that says something.
struct state_rule {
  model_keys::names keys;
  costs::mixer (*read)(const model_keys&, const costs::model_shape&);
};
/// Source    modeling files of transformers, and of the models' own repositories. `lightning` and `dual` are keys of
///           families alone
inline constexpr state_rule state_rules[]{
    {{"linear_attn_config"}, states::kimi_delta},
    {{"linear_num_value_heads", "linear_num_key_heads"}, states::gated_delta},
    {{"lightning", "attn_type_list"}, states::lightning},
    {{"dual", "mamba_n_heads", "mamba_num_heads"}, states::dual},
    {{"mamba_d_state", "ssm_state_size", "state_size", "mamba_dt_rank", "mamba_expand", "mamba_d_conv"},
     states::selective},
};

/// The state of those layers that have one.
/// Errors    malformed: no key says of which matrices
[[nodiscard]] inline costs::mixer read_state(const model_keys& keys, const layer_kinds& kinds,
                                             const costs::model_shape& m) {
  for (const state_rule& rule : state_rules) {
    if (!keys.telling(rule.keys)) continue;
    costs::mixer made = rule.read(keys, m);
    made.state_element = state_element_of(keys);
    if (std::max(made.in, made.out) > 16 * widest || made.state_size() > 0x1p40 || made.inner > std::int64_t{1} << 40)
      refuse_layers(keys.described({kinds.key}), "layers have a state that is too wide");
    return made;
  }
  refuse_layers(keys.described({kinds.key}),
                "layers have a state instead of attention, and no key that is known (mamba_d_state, "
                "linear_num_value_heads) says its size");
}

}  // namespace slimpack::io::detail

#endif
