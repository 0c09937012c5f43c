#ifndef SLIMPACK_IO_DETAIL_CSV_SAMPLES_HPP
#define SLIMPACK_IO_DETAIL_CSV_SAMPLES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/network/collective_sample.hpp>
#include <slimpack/detail/masked.hpp>
#include <slimpack/io/csv.hpp>
#include <slimpack/io/detail/csv_row.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>
#include <slimpack/io/profile_note.hpp>

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// Readers of the CSV forms of io/profile.hpp, for files that have the columns of their form. They add to the samples,
/// and to the notes when times fall as sizes grow.
namespace slimpack::io::detail {

/// Finds measurements that are faster than one of a smaller size, all else equal: noise, or a slip of the pen.
class falling_times {
 public:
  /// A time in a column. `alike` is what it has in common with those that it is compared with; it grows with `size`.
  void add(const std::string& gpu, std::string alike, double size, const std::string& column, seconds time,
           std::size_t row) {
    points_[gpu].push_back({std::move(alike), column, size, time.value, row});
  }

  /// A note on each GPU, naming the worst place by the columns that are sizes; none where no time falls.
  /// Complexity O(n log n)
  void report(const csv_table& table, std::initializer_list<const char*> sizes, std::vector<profile_note>& notes) {
    for (auto& [gpu, points] : points_) {
      std::sort(points.begin(), points.end());
      const fall worst = worst_of(points);
      if (worst.rows == 0) continue;
      std::string place;
      for (const char* column : sizes)
        place +=
            std::string(column) + " " + slimpack::detail::shown(table.text(worst.lower->row, column).value()) + ", ";
      const long percent = std::lround(100 * (1 - worst.lower->time / worst.above->time));
      notes.push_back({gpu, table.where(worst.lower->row) + ": column " + worst.lower->column + ": " + place +
                                std::to_string(percent) + " % faster than the smaller size in line " +
                                std::to_string(table.line(worst.above->row)) +
                                "; such rows in all: " + std::to_string(worst.rows)});
    }
  }

 private:
  struct point {
    std::string alike;
    std::string column;
    double size;
    double time;
    std::size_t row;
    friend auto operator<=>(const point&, const point&) = default;
    [[nodiscard]] bool like(const point& other) const { return alike == other.alike && column == other.column; }
  };

  struct fall {
    const point* lower{};
    const point* above{};
    std::size_t rows{};
  };

  /// Of sorted points: each against the slowest of all smaller sizes that are alike.
  [[nodiscard]] static fall worst_of(const std::vector<point>& points) {
    fall worst;
    std::set<std::size_t> rows;
    const point* slowest = nullptr;
    for (std::size_t i = 0, next = 0; i < points.size(); ++i) {
      const point& here = points[i];
      if (i == 0 || !here.like(points[i - 1])) {
        slowest = nullptr;
        next = i;
      }
      for (; points[next].size < here.size; ++next)
        if (!slowest || points[next].time > slowest->time) slowest = &points[next];
      if (!slowest || here.time >= slowest->time) continue;
      rows.insert(here.row);
      if (!worst.lower || here.time / slowest->time < worst.lower->time / worst.above->time)
        worst = {&here, slowest, 0};
    }
    worst.rows = rows.size();
    return worst;
  }

  std::map<std::string, std::vector<point>> points_;  ///< of each GPU
};

/// Samples, and the row of the file that each was read from.
template <class Sample>
struct csv_samples {
  std::vector<Sample> all{};
  std::vector<std::size_t> rows{};
};

/// The first and the number of rows left out are noted.
template <class Sample, class Read>
[[nodiscard]] result<csv_samples<Sample>> read_rows(const csv_table& table, std::vector<profile_note>& notes,
                                                    const Read& read) {
  csv_samples<Sample> samples;
  std::map<std::string, std::pair<std::string, std::size_t>> left_out;  // of each GPU: the first, how many
  for (std::size_t i = 0; i < table.rows(); ++i) {
    csv_row row(table, i);
    Sample made = read(row);
    if (row.wrong()) return *row.wrong();
    if (row.left_out()) {
      ++left_out.try_emplace(made.gpu, table.where(i) + ": " + *row.left_out(), 0).first->second.second;
    } else {
      samples.all.push_back(std::move(made));
      samples.rows.push_back(i);
    }
  }
  for (const auto& [gpu, found] : left_out)
    notes.push_back({gpu, found.first + ", left out; such rows in all: " + std::to_string(found.second)});
  return samples;
}

/// Notes GPUs that have fewer sizes than a fit needs: for a constant, a rate and a check of both.
template <class Sample, class SizeOf>
void note_few(const csv_table& table, const csv_samples<Sample>& samples, std::vector<profile_note>& notes,
              const SizeOf& size) {
  constexpr std::size_t least = 3;
  const std::vector<Sample>& all = samples.all;
  using size_type = decltype(size(all.front()));
  std::map<std::string, std::pair<std::set<size_type>, std::size_t>> sizes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& [seen, last] = sizes[all[i].gpu];
    if (seen.size() < least) seen.insert(size(all[i]));
    last = samples.rows[i];
  }
  for (const auto& [gpu, found] : sizes)
    if (const std::size_t count = found.first.size(); count < least)
      notes.push_back({gpu, table.where(found.second) + ": " + gpu + " has " + std::to_string(count) +
                                (count == 1 ? " size" : " sizes") + " in this file, too few to fit: measure at least " +
                                std::to_string(least)});
}

/// Values that rows have in common, as one text.
template <class... Values>
[[nodiscard]] std::string alike(const Values&... values) {
  std::string all;
  const auto add = [&](const auto& v) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(v)>>)
      all += std::to_string(v);
    else
      all += v;
    all += '\n';
  };
  (add(values), ...);
  return all;
}

[[nodiscard]] inline result<csv_samples<costs::attention_sample>> read_attention(const csv_table& table,
                                                                                 std::vector<profile_note>& notes) {
  const result<csv_quantity> forward = need_quantity(table, "fwd", time_units);
  if (!forward) return forward.error();
  const result<std::optional<csv_quantity>> backward = find_quantity(table, "bwd", time_units);
  if (!backward) return backward.error();
  result<csv_samples<costs::attention_sample>> read =
      read_rows<costs::attention_sample>(table, notes, [&](csv_row& row) -> costs::attention_sample {
        costs::attention_sample s{.gpu = row.gpu(),
                                  .kernel = row.text("kernel"),
                                  .batch = row.count("batch"),
                                  .queries = {row.count("q_tokens", longest_supported.value)},
                                  .keys = {row.count("kv_tokens", longest_supported.value)},
                                  .heads = row.count("q_heads"),
                                  .kv_heads = row.count("kv_heads"),
                                  .head_dim = row.head_width("head_dim"),
                                  .causal = row.flag("causal", true),
                                  .deterministic = row.flag("deterministic_bwd", false),
                                  .forward = row.time(forward.value()),
                                  .backward = row.time(backward.value())};
        if (s.causal && s.keys < s.queries)
          row.fail("kv_tokens",
                   std::to_string(s.keys.value) + " is less than q_tokens; it counts the prefix and the " + "queries");
        return s;
      });
  if (!read) return read;
  const std::vector<costs::attention_sample>& all = read.value().all;
  const std::vector<std::size_t>& rows = read.value().rows;
  note_few(table, read.value(), notes, [](const auto& s) { return std::pair(s.queries, s.keys); });
  falling_times falling;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const costs::attention_sample& s = all[i];
    const std::string kernel = alike(s.kernel, s.batch, s.heads, s.kv_heads, s.head_dim, s.causal, s.deterministic);
    const auto add = [&](const std::string& column, seconds time) {
      const auto q = static_cast<double>(s.queries.value);
      const auto kv = static_cast<double>(s.keys.value);
      falling.add(s.gpu, kernel + alike("same queries", s.queries.value), kv, column, time, rows[i]);
      falling.add(s.gpu, kernel + alike("same keys", s.keys.value), q, column, time, rows[i]);
      falling.add(s.gpu, kernel + alike("same prefix", s.keys.value - s.queries.value), q, column, time, rows[i]);
    };
    add(forward.value().column, s.forward);
    if (s.backward) add(backward.value()->column, *s.backward);
  }
  falling.report(table, {"q_tokens", "kv_tokens"}, notes);
  return read;
}

[[nodiscard]] inline result<csv_samples<costs::product_sample>> read_products(const csv_table& table,
                                                                              std::vector<profile_note>& notes) {
  const result<csv_quantity> time = need_quantity(table, "", time_units);
  if (!time) return time.error();
  result<csv_samples<costs::product_sample>> read =
      read_rows<costs::product_sample>(table, notes, [&](csv_row& row) -> costs::product_sample {
        return {.gpu = row.gpu(),
                .m = row.count<std::int64_t>("m"),
                .n = row.count<std::int64_t>("n"),
                .k = row.count<std::int64_t>("k"),
                .time = row.time(time.value())};
      });
  if (!read) return read;
  const std::vector<costs::product_sample>& all = read.value().all;
  const std::vector<std::size_t>& rows = read.value().rows;
  note_few(table, read.value(), notes, [](const auto& s) { return std::tuple(s.m, s.n, s.k); });
  falling_times falling;
  for (std::size_t i = 0; i < all.size(); ++i)
    falling.add(all[i].gpu, alike(all[i].n, all[i].k), static_cast<double>(all[i].m), time.value().column, all[i].time,
                rows[i]);
  falling.report(table, {"m", "n", "k"}, notes);
  return read;
}

[[nodiscard]] inline result<csv_samples<costs::layer_sample>> read_layers(const csv_table& table,
                                                                          std::vector<profile_note>& notes) {
  using operation = std::optional<seconds> costs::layer_sample::*;
  static constexpr std::pair<std::string_view, operation> operations[] = {
      {"input_layernorm", &costs::layer_sample::input_layernorm},
      {"attn_pre_proj", &costs::layer_sample::attn_pre_proj},
      {"attn_rope", &costs::layer_sample::attn_rope},
      {"attn_post_proj", &costs::layer_sample::attn_post_proj},
      {"post_attention_layernorm", &costs::layer_sample::post_attention_layernorm},
      {"mlp_up_proj", &costs::layer_sample::mlp_up_proj},
      {"mlp_act", &costs::layer_sample::mlp_act},
      {"mlp_down_proj", &costs::layer_sample::mlp_down_proj},
      {"add", &costs::layer_sample::add},
      {"emb", &costs::layer_sample::emb}};
  std::vector<std::pair<csv_quantity, operation>> columns;
  for (const auto& [stem, member] : operations) {
    const result<std::optional<csv_quantity>> column = find_quantity(table, stem, time_units);
    if (!column) return column.error();
    if (column.value()) columns.emplace_back(*column.value(), member);
  }
  if (columns.empty()) return table.lacks("attn_pre_proj_ms or that of another operation");
  result<csv_samples<costs::layer_sample>> read =
      read_rows<costs::layer_sample>(table, notes, [&](csv_row& row) -> costs::layer_sample {
        costs::layer_sample s{.gpu = row.gpu(),
                              .model = row.text("model"),
                              .hidden = row.count<std::int64_t>("hidden"),
                              .ffn = row.count<std::int64_t>("ffn"),
                              .q_heads = row.count("q_heads"),
                              .kv_heads = row.count("kv_heads"),
                              .tensor = row.count("tp"),
                              .tokens = {row.count("tokens", longest_supported.value)}};
        for (const auto& [column, member] : columns) s.*member = row.time(std::optional(column));
        return s;
      });
  if (!read) return read;
  const std::vector<costs::layer_sample>& all = read.value().all;
  const std::vector<std::size_t>& rows = read.value().rows;
  note_few(table, read.value(), notes, [](const auto& s) { return s.tokens; });
  falling_times falling;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const costs::layer_sample& s = all[i];
    const std::string layer = alike(s.model, s.hidden, s.ffn, s.q_heads, s.kv_heads, s.tensor);
    for (const auto& [column, member] : columns)
      if (s.*member)
        falling.add(s.gpu, layer, static_cast<double>(s.tokens.value), column.column, *(s.*member), rows[i]);
  }
  falling.report(table, {"tp", "tokens"}, notes);
  return read;
}

[[nodiscard]] inline std::optional<costs::collective> collective_named(std::string_view name) {
  using costs::collective;
  static const std::map<std::string_view, collective> names{
      {"all_reduce", collective::all_reduce},         {"all_gather", collective::all_gather},
      {"reduce_scatter", collective::reduce_scatter}, {"alltoall", collective::all_to_all},
      {"all_to_all", collective::all_to_all},         {"send_recv", collective::send_receive},
      {"send_receive", collective::send_receive}};
  const auto found = names.find(name);
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

[[nodiscard]] inline result<csv_samples<costs::collective_sample>> read_collectives(const csv_table& table,
                                                                                    std::vector<profile_note>& notes) {
  const result<csv_quantity> time = need_quantity(table, "", time_units);
  if (!time) return time.error();
  const result<csv_quantity> size = need_quantity(table, "", size_units);
  if (!size) return size.error();
  result<csv_samples<costs::collective_sample>> read =
      read_rows<costs::collective_sample>(table, notes, [&](csv_row& row) -> costs::collective_sample {
        const std::string name = row.text("op");
        const std::optional<costs::collective> op = collective_named(name);
        if (!op)
          row.fail("op", slimpack::detail::in_quotes(name) +
                             " is none of all_reduce, all_gather, reduce_scatter, alltoall, send_recv");
        costs::collective_sample s{.gpu = row.gpu(),
                                   .node = table.has("node_type") ? row.text("node_type") : "",
                                   .op = op.value_or(costs::collective::all_reduce),
                                   .ranks = row.count("gpus"),
                                   .ranks_per_node = row.count(table.has("gpus_per_node") ? "gpus_per_node" : "gpus"),
                                   .size = row.size(size.value()),
                                   .time = row.time(time.value())};
        if (s.ranks < 2) row.fail("gpus", "is 1, expected at least 2");
        s.ranks_per_node = std::min(s.ranks_per_node, s.ranks);  // some say how many GPUs a node has
        return s;
      });
  if (!read) return read;
  const std::vector<costs::collective_sample>& all = read.value().all;
  const std::vector<std::size_t>& rows = read.value().rows;
  note_few(table, read.value(), notes, [](const auto& s) { return s.size; });
  falling_times falling;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const costs::collective_sample& s = all[i];
    falling.add(s.gpu, alike(s.node, costs::name_of(s.op), s.ranks, s.ranks_per_node), s.size.value,
                time.value().column, s.time, rows[i]);
  }
  falling.report(table, {"op", "gpus", size.value().column.c_str()}, notes);
  return read;
}

}  // namespace slimpack::io::detail

#endif
