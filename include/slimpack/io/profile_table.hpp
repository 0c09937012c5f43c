#ifndef SLIMPACK_IO_PROFILE_TABLE_HPP
#define SLIMPACK_IO_PROFILE_TABLE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/network/collective_sample.hpp>
#include <slimpack/io/csv.hpp>
#include <slimpack/io/detail/csv_row.hpp>
#include <slimpack/io/detail/csv_samples.hpp>
#include <slimpack/io/profile_note.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// What tells the CSV forms of io/profile.hpp apart.
namespace slimpack::io::detail {

enum class csv_measures : unsigned char { attention, products, layers, collectives };

/// The columns that a file of a form must have.
struct csv_form {
  csv_measures measures;
  std::vector<std::string_view> columns;
  std::vector<std::string_view> times{};  ///< stems of columns of times
  bool size{};                            ///< a column of bytes
};

[[nodiscard]] inline const std::vector<csv_form>& csv_forms() {
  static const std::vector<csv_form> forms{
      {csv_measures::attention,
       {"gpu", "kernel", "batch", "q_tokens", "kv_tokens", "q_heads", "kv_heads", "head_dim"},
       {"fwd"}},
      {csv_measures::products, {"gpu", "m", "n", "k"}, {""}},
      {csv_measures::layers, {"gpu", "model", "hidden", "ffn", "q_heads", "kv_heads", "tp", "tokens"}},
      {csv_measures::collectives, {"gpu", "op", "gpus"}, {""}, true}};
  return forms;
}

[[nodiscard]] inline bool has_quantity(const csv_table& table, std::string_view stem, std::span<const csv_unit> units) {
  const std::string start = std::string(stem) + "_";
  return std::any_of(units.begin(), units.end(), [&](const csv_unit& u) { return table.has(column_of(stem, u)); }) ||
         (!stem.empty() && std::any_of(table.columns().begin(), table.columns().end(),
                                       [&](const std::string& name) { return name.starts_with(start); }));
}

/// The form of which a file has most columns, if it has more than half of them.
[[nodiscard]] inline const csv_form* form_of(const csv_table& table) {
  const csv_form* best = nullptr;
  double most = 0.5;
  for (const csv_form& f : csv_forms()) {
    const auto has = [&](std::string_view column) { return table.has(column); };
    const auto has_time = [&](std::string_view stem) { return has_quantity(table, stem, time_units); };
    const auto there = std::count_if(f.columns.begin(), f.columns.end(), has) +
                       std::count_if(f.times.begin(), f.times.end(), has_time) +
                       (f.size && has_quantity(table, "", size_units) ? 1 : 0);
    const double share =
        static_cast<double>(there) / static_cast<double>(f.columns.size() + f.times.size() + (f.size ? 1 : 0));
    if (share > most) most = share, best = &f;
  }
  return best;
}

[[nodiscard]] inline std::optional<error> lacking(const csv_table& table, const csv_form& form) {
  for (const std::string_view column : form.columns)
    if (!table.has(column)) return table.lacks(column);
  if (table.rows() == 0) return error{errc::invalid_input, table.where() + ": no rows follow the column names"};
  return std::nullopt;
}

/// What a file may measure, for the complaint that one does not.
[[nodiscard]] inline std::string known_forms() {
  std::string list;
  for (const csv_form& form : csv_forms()) {
    if (!list.empty()) list += "; or ";
    for (const std::string_view column : form.columns) list.append(column).append(" ");
    for (const std::string_view stem : form.times) list.append(column_of(stem, time_units[1])).append(" ");
    if (form.size) list.append("bytes ");
    list.pop_back();
  }
  return list;
}

}  // namespace slimpack::io::detail

namespace slimpack::io {

/// What one file measures: one of the four lists has rows, or none where the file is of another form.
struct profile_table {
  std::string file{};
  std::vector<costs::attention_sample> attention{};
  std::vector<costs::product_sample> products{};
  std::vector<costs::layer_sample> layers{};
  std::vector<costs::collective_sample> collectives{};
  std::vector<std::size_t> lines{};   ///< of each row
  bool measures{};                    ///< whether its columns are of a form
  std::vector<profile_note> notes{};  ///< what the reader went on from
};

namespace detail {

/// Moves samples into the table.
template <class Sample>
[[nodiscard]] std::optional<error> take(std::vector<Sample>& to, std::vector<std::size_t>& lines,
                                        const csv_table& table, result<csv_samples<Sample>> read) {
  if (!read) return std::move(read).error();
  to = std::move(read.value().all);
  for (const std::size_t row : read.value().rows) lines.push_back(table.line(row));
  return std::nullopt;
}

[[nodiscard]] inline std::optional<error> fill(profile_table& to, const csv_table& table, const csv_form& form) {
  if (std::optional<error> wrong = lacking(table, form)) return wrong;
  switch (form.measures) {
    case csv_measures::attention:
      return take(to.attention, to.lines, table, read_attention(table, to.notes));
    case csv_measures::products:
      return take(to.products, to.lines, table, read_products(table, to.notes));
    case csv_measures::layers:
      return take(to.layers, to.lines, table, read_layers(table, to.notes));
    case csv_measures::collectives:
      break;
  }
  return take(to.collectives, to.lines, table, read_collectives(table, to.notes));
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
///                deterministic_bwd, v_head_dim]: queries are the last of the keys; causal and not deterministic where
///                not said. Where values have another width than queries and keys, v_head_dim or a cell "192/128" says
///                so, and the mean of both counts, which is as much work
///   products     gpu, m, n, k, ms: (m x k) (k x n) in bf16, m tokens
///   layers       gpu, model, hidden, ffn, q_heads, kv_heads, tp, tokens and an operation or more:
///                input_layernorm_ms, attn_pre_proj_ms, attn_rope_ms, attn_post_proj_ms, post_attention_layernorm_ms,
///                mlp_up_proj_ms, mlp_act_ms, mlp_down_proj_ms, add_ms, emb_ms: forward, of one tensor-parallel rank
///   collectives  gpu, op, gpus, bytes, ms [, gpus_per_node, node_type]: op is all_reduce, all_gather, reduce_scatter,
///                alltoall or send_recv, bytes as NCCL's tests count them; on one node where not said
///
/// Columns may stand in any order, beside others. An empty cell of bwd_ms or an operation is one not measured.
/// Notes     on files that were skipped, on rows left out whose heads have more than two widths, on times that fall as
///           sizes grow, and on GPUs with fewer than three sizes in a file
/// Errors    unreadable: the path, or a file; invalid_input: no file of these forms; a file without rows, or without
///           all columns of the form that it has most of; a row without a GPU; a cell that is no such size or time,
///           which is from a picosecond to a day. All name file and line
/// Complexity O(file sizes), n log n of their rows
[[nodiscard]] inline result<std::vector<profile_table>> read_profile_tables(const std::filesystem::path& path) {
  const result<std::vector<std::filesystem::path>> files = detail::csv_files(path);
  if (!files) return files.error();
  std::vector<profile_table> tables;
  for (const std::filesystem::path& file : files.value()) {
    const result<csv_table> table = csv_table::read(file);
    if (!table) return table.error();
    profile_table made{.file = table.value().file()};
    if (const detail::csv_form* form = detail::form_of(table.value())) {
      made.measures = true;
      if (std::optional<error> wrong = detail::fill(made, table.value(), *form)) return std::move(*wrong);
    } else {
      made.notes.push_back({"", table.value().where() + ": skipped, these columns are no measurements of kernels"});
    }
    tables.push_back(std::move(made));
  }
  if (std::any_of(tables.begin(), tables.end(), [](const profile_table& t) { return t.measures; })) return tables;
  return error{errc::invalid_input, path.string() + ": measures nothing, expected columns " + detail::known_forms()};
}

}  // namespace slimpack::io

#endif
