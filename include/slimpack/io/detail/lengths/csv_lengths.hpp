#ifndef SLIMPACK_IO_DETAIL_LENGTHS_CSV_LENGTHS_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_CSV_LENGTHS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/io/csv.hpp>
#include <slimpack/io/detail/csv_row.hpp>
#include <slimpack/io/detail/lengths/field.hpp>

#include <algorithm>
#include <cstddef>
#include <istream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::io::detail {

/// A column of lengths: the one that is named, the first of the usual ones, or the only one.
[[nodiscard]] inline result<std::vector<tokens>> csv_lengths(std::istream& in, std::string_view field,
                                                             const std::string& file) {
  result<csv_table> read = csv_table::read(in, file);
  if (!read) return std::move(read).error();
  const csv_table& table = read.value();
  std::string column(field);
  if (column.empty()) {
    const auto usual =
        std::find_if(usual_fields.begin(), usual_fields.end(), [&](const char* name) { return table.has(name); });
    column = usual != usual_fields.end()   ? *usual
             : table.columns().size() == 1 ? table.columns().front()
                                           : *usual_fields.begin();
  }
  if (!table.has(column)) {
    error missing = table.lacks(column);
    missing.detail += "; " + std::string(name_the_field);
    return missing;
  }
  std::vector<tokens> lengths;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    csv_row row(table, i);
    lengths.push_back({row.count(column, longest_supported.value)});
    if (row.wrong()) return *row.wrong();
  }
  return lengths;
}

}  // namespace slimpack::io::detail

#endif
