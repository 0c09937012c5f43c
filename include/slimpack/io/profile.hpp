#ifndef SLIMPACK_IO_PROFILE_HPP
#define SLIMPACK_IO_PROFILE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/model/gpu.hpp>
#include <slimpack/costs/model/gpu_family.hpp>
#include <slimpack/costs/network/collective_sample.hpp>
#include <slimpack/detail/masked.hpp>
#include <slimpack/io/profile_note.hpp>
#include <slimpack/io/profile_table.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slimpack::io {

using costs::gpu_family;

/// Measurements of kernels and collectives, as files give them.
struct profile {
  std::vector<costs::attention_sample> attention{};
  std::vector<costs::product_sample> products{};
  std::vector<costs::layer_sample> layers{};
  std::vector<costs::collective_sample> collectives{};
  std::vector<profile_note> notes{};  ///< what the reader went on from

  /// The rows and notes of several files together.
  [[nodiscard]] static profile of_tables(std::span<const profile_table> tables) {
    profile all;
    const auto add = [](auto& to, const auto& more) { to.insert(to.end(), more.begin(), more.end()); };
    for (const profile_table& t : tables) {
      add(all.attention, t.attention), add(all.products, t.products), add(all.layers, t.layers);
      add(all.collectives, t.collectives), add(all.notes, t.notes);
    }
    return all;
  }

  /// The families of GPUs that were measured, in alphabetical order.
  [[nodiscard]] std::vector<std::string> families() const {
    std::vector<std::string> all;
    const auto add = [&](const auto& samples) {
      for (const auto& s : samples)
        if (all.empty() || all.back() != gpu_family(s.gpu)) all.push_back(gpu_family(s.gpu));
    };
    add(attention), add(products), add(layers), add(collectives);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  /// What the same chip takes on a board with another clock and another memory: attention and products as much longer
  /// as the peak is lower, norms, additions, positions, activation and embedding as the bandwidth is. Collectives stay.
  /// Source    derived: kernels that compute go with the clock, those that move bytes with the memory
  [[nodiscard]] profile on_board(const costs::gpu& measured, const costs::gpu& board) const {
    profile own = *this;
    const double compute = measured.peak_bf16_flops / board.peak_bf16_flops;
    const double moved = measured.memory_bandwidth / board.memory_bandwidth;
    const auto scale = [](std::optional<seconds>& t, double by) {
      if (t) t = *t * by;
    };
    for (costs::attention_sample& s : own.attention) s.forward = s.forward * compute, scale(s.backward, compute);
    for (costs::product_sample& s : own.products) s.time = s.time * compute;
    for (costs::layer_sample& s : own.layers) {
      for (std::optional<seconds>* t : {&s.attn_pre_proj, &s.attn_post_proj, &s.mlp_up_proj, &s.mlp_down_proj})
        scale(*t, compute);
      for (std::optional<seconds>* t :
           {&s.input_layernorm, &s.attn_rope, &s.post_attention_layernorm, &s.mlp_act, &s.add, &s.emb})
        scale(*t, moved);
    }
    return own;
  }

  /// The measurements of the family of a GPU, the notes on them, and those on files that were skipped.
  /// Errors    invalid_input: there are none; the detail lists the families there are
  [[nodiscard]] result<profile> of(std::string_view gpu) const {
    const std::string family = gpu_family(gpu);
    profile own = *this;
    const auto keep = [&](auto& samples) {
      std::erase_if(samples, [&](const auto& s) { return gpu_family(s.gpu) != family; });
      return !samples.empty();
    };
    bool any = keep(own.attention);
    any = keep(own.products) || any;
    any = keep(own.layers) || any;
    any = keep(own.collectives) || any;
    std::erase_if(own.notes, [&](const profile_note& n) { return !n.gpu.empty() && gpu_family(n.gpu) != family; });
    if (any) return own;
    using slimpack::detail::shown;
    constexpr std::size_t most_of_list = 400;
    std::string list;
    for (const std::string& f : families()) list += (list.empty() ? "" : ", ") + shown(f);
    return error{errc::invalid_input, "nothing was measured on " + shown(gpu) + " (" + shown(family) + "), only on " +
                                          slimpack::detail::masked(list, most_of_list)};
  }
};

/// Reads the CSV files of a folder, or one file, into one profile: io/profile_table.hpp has their forms.
/// Errors    those of read_profile_tables            Complexity  O(file sizes), n log n of their rows
[[nodiscard]] inline result<profile> read_profile(const std::filesystem::path& path) {
  const result<std::vector<profile_table>> tables = read_profile_tables(path);
  if (!tables) return tables.error();
  return profile::of_tables(tables.value());
}

}  // namespace slimpack::io

#endif
