#ifndef SLIMPACK_IO_PROFILE_HPP
#define SLIMPACK_IO_PROFILE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/network/collective_sample.hpp>
#include <slimpack/io/csv.hpp>
#include <slimpack/io/detail/csv_forms.hpp>
#include <slimpack/io/detail/csv_samples.hpp>
#include <slimpack/io/profile_note.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace slimpack::io {

/// What a GPU's name begins with, up to the first '-', '_' or blank, in small letters: "h100" of "H100-SXM5-80GB".
/// Measurements of one family are taken for one GPU.
[[nodiscard]] inline std::string gpu_family(std::string_view name) {
  std::string family(name.substr(0, name.find_first_of("-_ ")));
  for (char& c : family)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');  // whatever the locale
  return family;
}

/// Measurements of kernels and collectives, as files give them.
struct profile {
  std::vector<costs::attention_sample> attention{};
  std::vector<costs::product_sample> products{};
  std::vector<costs::layer_sample> layers{};
  std::vector<costs::collective_sample> collectives{};
  std::vector<profile_note> notes{};  ///< what read_profile went on from

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
    std::string list;
    for (const std::string& f : families()) list += (list.empty() ? "" : ", ") + f;
    return error{errc::invalid_input,
                 "nothing was measured on " + std::string(gpu) + " (" + family + "), only on " + list};
  }
};

namespace detail {

template <class Sample>
[[nodiscard]] std::optional<error> append(std::vector<Sample>& all, result<std::vector<Sample>> more) {
  if (!more) return std::move(more).error();
  all.insert(all.end(), std::make_move_iterator(more.value().begin()), std::make_move_iterator(more.value().end()));
  return std::nullopt;
}

[[nodiscard]] inline std::optional<error> append(profile& all, const csv_table& table, const csv_form& form) {
  if (std::optional<error> wrong = lacking(table, form)) return wrong;
  switch (form.measures) {
    case csv_measures::attention:
      return append(all.attention, read_attention(table, all.notes));
    case csv_measures::products:
      return append(all.products, read_products(table, all.notes));
    case csv_measures::layers:
      return append(all.layers, read_layers(table, all.notes));
    case csv_measures::collectives:
      break;
  }
  return append(all.collectives, read_collectives(table, all.notes));
}

/// The file itself, or the CSV files of a folder by name.
[[nodiscard]] inline result<std::vector<std::filesystem::path>> csv_files(const std::filesystem::path& path) {
  std::error_code failed;
  if (!std::filesystem::is_directory(path, failed)) return std::vector{path};
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed))
    if (at->path().extension() == ".csv") files.push_back(at->path());
  if (failed) return error{errc::unreadable, path.string() + ": cannot be listed: " + failed.message()};
  if (files.empty()) return error{errc::invalid_input, path.string() + ": holds no .csv files"};
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace detail

/// Reads the CSV files of a folder, or one file. What a file measures is told by its columns, never by its name; other
/// CSV files are skipped with a note. Times end in _s, _ms, _us or _ns; sizes are bytes, KiB, MiB, GiB, KB, MB or GB.
///
///   attention    gpu, kernel, batch, q_tokens, kv_tokens, q_heads, kv_heads, head_dim, fwd_ms [, bwd_ms, causal,
///                deterministic_bwd]: queries are the last of the keys; causal and not deterministic where not said
///   products     gpu, m, n, k, ms: (m x k) (k x n) in bf16, m tokens
///   layers       gpu, model, hidden, ffn, q_heads, kv_heads, tp, tokens and an operation or more:
///                input_layernorm_ms, attn_pre_proj_ms, attn_rope_ms, attn_post_proj_ms, post_attention_layernorm_ms,
///                mlp_up_proj_ms, mlp_act_ms, mlp_down_proj_ms, add_ms, emb_ms: forward, of one tensor-parallel rank
///   collectives  gpu, op, gpus, bytes, ms [, gpus_per_node, node_type]: op is all_reduce, all_gather, reduce_scatter,
///                alltoall or send_recv, bytes as NCCL's tests count them; on one node where not said
///
/// Columns may stand in any order, beside others. An empty cell of bwd_ms or an operation is one not measured.
/// Notes     on files that were skipped, on times that fall as sizes grow, and on GPUs with fewer than three sizes in a
///           file
/// Errors    unreadable: the path, or a file; invalid_input: no file of these forms; a file without rows, or without
///           all columns of the form that it has most of; a row without a GPU; a cell that is no such size or time,
///           which is from a picosecond to a day. All name file and line
/// Complexity O(file sizes), n log n of their rows
[[nodiscard]] inline result<profile> read_profile(const std::filesystem::path& path) {
  const result<std::vector<std::filesystem::path>> files = detail::csv_files(path);
  if (!files) return files.error();
  profile found;
  bool any = false;
  for (const std::filesystem::path& file : files.value()) {
    const result<csv_table> table = csv_table::read(file);
    if (!table) return table.error();
    const detail::csv_form* form = detail::form_of(table.value());
    if (form == nullptr) {
      found.notes.push_back({"", table.value().where() + ": skipped, these columns are no measurements of kernels"});
      continue;
    }
    any = true;
    if (std::optional<error> wrong = detail::append(found, table.value(), *form)) return std::move(*wrong);
  }
  if (any) return found;
  return error{errc::invalid_input, path.string() + ": measures nothing, expected columns " + detail::known_forms()};
}

}  // namespace slimpack::io

#endif
