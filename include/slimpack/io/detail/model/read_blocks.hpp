#ifndef SLIMPACK_IO_DETAIL_MODEL_READ_BLOCKS_HPP
#define SLIMPACK_IO_DETAIL_MODEL_READ_BLOCKS_HPP

#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/model/further_layers.hpp>
#include <slimpack/io/detail/model/model_keys.hpp>
#include <slimpack/io/detail/model/read_dimensions.hpp>
#include <slimpack/io/detail/model/unpriced_keys.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slimpack::io::detail {

/// A layer of a model whose layers were chosen one by one (Puzzle, arXiv:2411.19146).
struct block {
  int kv_heads{};            ///< 0: it does not attend
  std::int64_t mlp_width{};  ///< 0: it has no MLP
  friend bool operator==(const block&, const block&) = default;
};

/// Refuses whatever a part of a block says besides these keys.
template <std::size_t Count>
void refuse_other_parts(const json_place& part, const std::array<std::string_view, Count>& known) {
  for (const std::string& name : part.names())
    if (std::find(known.begin(), known.end(), name) == known.end() && says_something(part.raw()[name]))
      part.need({name.c_str()})
          .expected(name == "replace_with_linear"
                        ? "false: a matrix in its place is not priced; give times of its stages instead"
                        : "nothing that is not priced; give times of its stages instead");
}
[[nodiscard]] inline bool is_left_out(const json_place& part) {
  const std::optional<json_place> no_op = part.find({"no_op"});
  return no_op && no_op->boolean();
}

/// Key and value heads: those that share a key, or their number.
[[nodiscard]] inline int kv_heads_of_block(const json_place& part, int heads) {
  refuse_other_parts(part, std::array<std::string_view, 3>{"n_heads_in_group", "num_key_value_heads", "no_op"});
  if (is_left_out(part)) return 0;
  const json_place count = part.need({"n_heads_in_group", "num_key_value_heads"});
  const int given = count.integer<int>(1, heads);
  if (heads % given != 0) count.expected("a divisor of the " + std::to_string(heads) + " attention heads");
  return part.find({"n_heads_in_group"}) ? heads / given : given;
}

/// Width of an MLP: 2 / 3 ffn_mult hidden, rounded up to a multiple of 256, or the width itself.
/// Source    modeling file of DeciLM, published with nvidia/Llama-3_1-Nemotron-51B-Instruct
[[nodiscard]] inline std::int64_t mlp_width_of_block(const json_place& part, std::int64_t hidden) {
  refuse_other_parts(part, std::array<std::string_view, 3>{"ffn_mult", "intermediate_size", "no_op"});
  if (is_left_out(part)) return 0;
  const json_place given = part.need({"ffn_mult", "intermediate_size"});
  if (!part.find({"ffn_mult"})) return given.integer(1, widest);
  const double width = std::floor(2 * given.positive(64) * static_cast<double>(hidden) / 3);
  return std::max<std::int64_t>((static_cast<std::int64_t>(width) + 255) / 256 * 256, 256);
}

/// The layers of block_configs; empty where the config has none.
[[nodiscard]] inline std::vector<block> read_blocks(const model_keys& keys, int layers, int heads,
                                                    std::int64_t hidden) {
  std::vector<block> all;
  const std::optional<json_place> list = keys.telling({"block_configs"});
  if (!list) return all;
  need_for_each_layer(keys, *list, layers, "a block for each layer");
  for (int i = 0; i < layers; ++i) {
    const json_place one = list->at(static_cast<std::size_t>(i));
    refuse_other_parts(one, std::array<std::string_view, 2>{"attention", "ffn"});
    const json_place attention = one.need({"attention"}), mlp = one.need({"ffn"});
    all.push_back({kv_heads_of_block(attention, heads), mlp_width_of_block(mlp, hidden)});
  }
  return all;
}

/// A model's own key heads and width are the largest of its layers.
[[nodiscard]] inline block largest_of(const std::vector<block>& all) {
  block most;
  for (const block& one : all) most = {std::max(most.kv_heads, one.kv_heads), std::max(most.mlp_width, one.mlp_width)};
  return most;
}

}  // namespace slimpack::io::detail

#endif
