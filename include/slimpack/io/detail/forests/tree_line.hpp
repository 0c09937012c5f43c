#ifndef SLIMPACK_IO_DETAIL_FORESTS_TREE_LINE_HPP
#define SLIMPACK_IO_DETAIL_FORESTS_TREE_LINE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace slimpack::io::detail {

/// Targets of a node, [begin, end) of its own tokens.
struct node_run {
  std::int64_t begin{}, end{};
  std::optional<std::uint32_t> count{};  ///< samples that train on them; none: all that have them
  std::optional<double> weight{};        ///< none: as many
};

/// What a line says of a node (io/forests/tree_lines.hpp).
struct tree_line {
  std::optional<std::uint32_t> parent{};  ///< none of a root
  std::int64_t length{};
  std::int64_t targets{};
  std::uint32_t samples{};
  bool has_runs{};  ///< a fifth column, which says which tokens the targets are
  std::vector<node_run> runs{};
};

/// Parts of a text between marks.
[[nodiscard]] inline std::vector<std::string_view> parted(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(mark, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// The number that is all of a text.
template <class Number>
[[nodiscard]] std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// A run of the fifth column: begin-end, and behind it xCOUNT and *WEIGHT.
[[nodiscard]] inline std::optional<node_run> run_in(std::string_view text) {
  node_run run;
  if (const std::size_t star = text.find('*'); star != std::string_view::npos) {
    run.weight = number_in<double>(text.substr(star + 1));
    if (!run.weight || !std::isfinite(*run.weight)) return std::nullopt;
    text = text.substr(0, star);
  }
  if (const std::size_t x = text.find('x'); x != std::string_view::npos) {
    run.count = number_in<std::uint32_t>(text.substr(x + 1));
    if (!run.count || *run.count == 0) return std::nullopt;
    text = text.substr(0, x);
  }
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto begin = number_in<std::int64_t>(text.substr(0, dash)),
             end = number_in<std::int64_t>(text.substr(dash + 1));
  if (!begin || !end || *begin < 0 || *end <= *begin) return std::nullopt;
  run.begin = *begin, run.end = *end;
  return run;
}

/// Reads the line of a node that has so many before it.            Errors  invalid_input, without the place
[[nodiscard]] inline result<tree_line> tree_line_in(std::string_view line, std::size_t nodes) {
  const auto wrong = [](const std::string& what) { return error{errc::invalid_input, what}; };
  const std::vector<std::string_view> cells = parted(line, '\t');
  if (cells.size() != 4 && cells.size() != 5)
    return wrong("has " + std::to_string(cells.size()) +
                 " columns, expected 4 with tabs between them: parent, length, targets and samples; or 5, with runs of "
                 "targets behind them");
  std::int64_t numbers[4]{};
  const std::pair<const char*, std::int64_t> columns[]{{"parent", -1}, {"length", 1}, {"targets", 0}, {"samples", 0}};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& [name, least] = columns[i];
    const std::int64_t most = i == 0 || i == 3 ? std::int64_t{no_parent.value} - 1 : longest_supported.value;
    const std::optional<std::int64_t> value = number_in<std::int64_t>(cells[i]);
    if (!value || *value < least || *value > most)
      return wrong(std::string(name) + " is " + in_quotes(cells[i]) + ", expected a whole number from " +
                   std::to_string(least) + " to " + std::to_string(most));
    numbers[i] = *value;
  }
  tree_line read{std::nullopt, numbers[1], numbers[2], static_cast<std::uint32_t>(numbers[3])};
  if (numbers[0] >= static_cast<std::int64_t>(nodes))
    return wrong("the node has the parent " + std::to_string(numbers[0]) + ", and its own number is " +
                 std::to_string(nodes) + ": a parent comes before its children");
  if (numbers[0] >= 0) read.parent = static_cast<std::uint32_t>(numbers[0]);
  if (read.targets > read.length)
    return wrong("has " + std::to_string(read.targets) + " targets in " + std::to_string(read.length) + " tokens");
  read.has_runs = cells.size() == 5;
  if (!read.has_runs) {
    if (read.targets > 0) read.runs = {{read.length - read.targets, read.length}};
  } else {
    std::int64_t before = 0, sum = 0;
    for (const std::string_view cell : parted(cells[4], ',')) {
      const std::optional<node_run> run = run_in(cell);
      if (!run)
        return wrong(in_quotes(cell) + " is no run of targets, expected begin-end, begin-endxSAMPLES or " +
                     "begin-end*WEIGHT, with numbers of tokens from 0 on");
      const std::string name = "the run " + in_quotes(cell);
      if (run->end > read.length)
        return wrong(name + " ends beyond its node, which has " + std::to_string(read.length) + " tokens");
      if (run->begin < before)
        return wrong(name + " begins before the end of another one: runs are in order, without overlap");
      before = run->end, sum += run->end - run->begin;
      read.runs.push_back(*run);
    }
    if (sum != read.targets)
      return wrong("has " + std::to_string(read.targets) + " targets, and its runs have " + std::to_string(sum));
  }
  if (!read.parent && !read.runs.empty() && read.runs.front().begin == 0)
    return wrong("the first token of a root is a target, and nothing predicts it");
  return read;
}

}  // namespace slimpack::io::detail

#endif
