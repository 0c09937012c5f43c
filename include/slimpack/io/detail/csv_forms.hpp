#ifndef SLIMPACK_IO_DETAIL_CSV_FORMS_HPP
#define SLIMPACK_IO_DETAIL_CSV_FORMS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/io/csv.hpp>
#include <slimpack/io/detail/csv_unit.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

#endif
