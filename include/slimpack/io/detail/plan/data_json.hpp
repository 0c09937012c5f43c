#ifndef SLIMPACK_IO_DETAIL_PLAN_DATA_JSON_HPP
#define SLIMPACK_IO_DETAIL_PLAN_DATA_JSON_HPP

#include <slimpack/core/plan.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/json_out.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Which data rows the sequences of a plan file are (io/plan_json.hpp).
namespace slimpack::io::detail {

/// Rows that follow each other are written as a run from so many on: fewer are shorter as numbers.
inline constexpr std::size_t shortest_run = 4;

inline void write_data(json_out& to, const plan_data& data) {
  to.key("data").open('{').field("file", std::string_view{data.file}).key("rows").open('[');
  const std::vector<std::uint64_t>& rows = data.rows;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t count = 1;
    while (i + count < rows.size() && rows[i + count] == rows[i] + count) ++count;
    if (count < shortest_run) count = 1;
    count == 1 ? to.value(rows[i]) : to.open('{').field("first", rows[i]).field("count", count).close('}');
    i += count;
  }
  to.close(']').close('}');
}

/// A row that comes twice, where there is one.
[[nodiscard]] inline std::optional<std::uint64_t> repeated_row(std::vector<std::uint64_t> rows) {
  std::sort(rows.begin(), rows.end());
  const auto twice = std::adjacent_find(rows.begin(), rows.end());
  return twice == rows.end() ? std::nullopt : std::optional(*twice);
}

/// Reads the data rows of a plan that has so many sequences. Where samples share beginnings, several may be of one row.
[[nodiscard]] inline plan_data data_in(const json_place& place, std::size_t sequences, bool shares_prefixes) {
  place.must_only_have({"file", "rows"});
  plan_data data{place["file"].text(), {}};
  const json_place rows = place["rows"];
  const std::string as_many = std::to_string(sequences) + " rows, one per sequence";
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const json_place one = rows.at(i);
    std::int64_t first{}, count = 1;
    if (one.is_object()) {
      one.must_only_have({"first", "count"});
      first = one["first"].integer(0, most);
      const json_place counted = one["count"];
      count = counted.integer(1, most);
      if (static_cast<std::uint64_t>(count) > sequences - data.rows.size())
        counted.expected("no more than are left of " + as_many);
      if (count - 1 > most - first) counted.expected("rows up to " + std::to_string(most));
    } else {
      first = one.integer(0, most);
      if (data.rows.size() == sequences) rows.expected(as_many);
    }
    for (std::int64_t k = 0; k < count; ++k) data.rows.push_back(static_cast<std::uint64_t>(first + k));
  }
  if (data.rows.size() != sequences) rows.expected(as_many);
  if (const std::optional<std::uint64_t> twice = repeated_row(data.rows); twice && !shares_prefixes)
    rows.expected("each row once: row " + std::to_string(*twice) + " comes twice");
  return data;
}

}  // namespace slimpack::io::detail

#endif
