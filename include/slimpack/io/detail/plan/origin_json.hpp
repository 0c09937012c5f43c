#ifndef SLIMPACK_IO_DETAIL_PLAN_ORIGIN_JSON_HPP
#define SLIMPACK_IO_DETAIL_PLAN_ORIGIN_JSON_HPP

#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/json_out.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// Where a plan comes from, and which data rows the sequences of its file are (io/plan_json.hpp).
namespace slimpack::io::detail {

[[nodiscard]] inline std::uint64_t hash_in(const json_place& place) {
  const std::string& digits = place.text();
  std::uint64_t hash{};
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), hash, 16);
  if (failed != std::errc{} || end != digits.data() + digits.size() || digits.size() != 16)
    place.expected("16 hexadecimal digits");
  return hash;
}

[[nodiscard]] inline plan_origin::options options_in(const json_place& place) {
  plan_origin::options all;
  for (const std::string& name : place.names()) {
    const json_place value = place[name.c_str()];
    all.emplace_back(name, value.text());
  }
  return all;
}

[[nodiscard]] inline plan_origin::input input_in(const json_place& place) {
  place.must_only_have({"option", "name", "hash", "content"});
  plan_origin::input made{place["option"].text(), place["name"].text(), hash_in(place["hash"])};
  if (const std::optional<json_place> content = place.find({"content"})) {
    made.content = content->text();
    if (text_hash(*made.content) != made.hash)
      content->expected("a text with the hash " + hash_text(made.hash) + ": it was changed");
  }
  return made;
}

[[nodiscard]] inline plan_origin origin_in(const json_place& place) {
  place.must_only_have({"version", "longest", "options", "batch", "inputs"});
  plan_origin made;
  made.version = place["version"].text();
  made.longest = {place["longest"].integer(1, longest_supported.value)};
  const json_place planning = place["options"];
  const json_place batch = place["batch"];
  const json_place inputs = place["inputs"];
  made.planning = options_in(planning);
  made.batch = options_in(batch);
  for (std::size_t i = 0; i < inputs.size(); ++i) made.inputs.push_back(input_in(inputs.at(i)));
  return made;
}

inline void write_options(json_out& to, std::string_view key, const plan_origin::options& options) {
  to.key(key).open('{');
  for (const auto& [name, value] : options) to.field(name, std::string_view{value});
  to.close('}');
}

inline void write_origin(json_out& to, const plan_origin& made) {
  to.key("made_with").open('{').field("version", std::string_view{made.version}).field("longest", made.longest.value);
  write_options(to, "options", made.planning);
  write_options(to, "batch", made.batch);
  to.key("inputs").open('[');
  for (const plan_origin::input& one : made.inputs) {
    to.line();
    to.open('{').field("option", std::string_view{one.option}).field("name", std::string_view{one.name});
    to.field("hash", hash_text(one.hash));
    if (one.content) to.field("content", std::string_view{*one.content});
    to.close('}');
  }
  to.close(']').close('}');
}

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
