#ifndef SLIMPACK_IO_FORESTS_TOKEN_LINES_HPP
#define SLIMPACK_IO_FORESTS_TOKEN_LINES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/forests/trained_run.hpp>
#include <slimpack/io/detail/forests/token_line.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/lengths/json_lengths.hpp>
#include <slimpack/io/detail/lengths/length_rows.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>
#include <slimpack/io/detail/open.hpp>
#include <slimpack/io/lengths/lengths_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::io {

/// The samples of a file, token by token.
struct token_list {
  lengths_list list;
  std::vector<std::vector<std::int32_t>> ids;              ///< of each length
  std::vector<std::vector<forests::trained_run>> targets;  ///< of each length: what forests::from_tokens takes
};

namespace detail {

/// Leaves out what comes behind the last target of each sample, and samples without targets.
inline void leave_tails_out(token_list& list) {
  const std::size_t all = list.ids.size();
  std::int64_t tokens_before = 0, tokens_gone = 0;
  std::size_t to = 0;
  for (std::size_t i = 0; i < all; ++i) {
    const auto size = static_cast<std::int64_t>(list.ids[i].size());
    tokens_before += size;
    if (list.targets[i].empty()) continue;
    const forests::trained_run& last = list.targets[i].back();
    const tokens end = last.begin + last.length;
    tokens_gone += size - end.value;
    list.ids[i].resize(static_cast<std::size_t>(end.value));
    if (to != i) list.ids[to] = std::move(list.ids[i]), list.targets[to] = std::move(list.targets[i]);
    list.list.lengths[to] = end, list.list.rows[to] = list.list.rows[i];
    ++to;
  }
  list.ids.resize(to), list.targets.resize(to), list.list.lengths.resize(to), list.list.rows.resize(to);
  if (to < all)
    list.list.notes.push_back(std::to_string(all - to) + " of " + std::to_string(all) +
                              " samples train on no token and are left out");
  if (tokens_gone > 0)
    list.list.notes.push_back(std::to_string(tokens_gone) + " of " + std::to_string(tokens_before) +
                              " tokens are left out, since no target comes behind them");
}

/// Where a sample has other tokens than another one that it says it shares some with.
[[nodiscard]] inline std::optional<std::string> sharing_fault(const std::vector<std::int32_t>& ids,
                                                              const std::vector<std::int32_t>& other,
                                                              const said_sharing& said) {
  const std::string with = "row " + std::to_string(said.row);
  if (other.size() < said.size)
    return "shares " + std::to_string(said.size) + " tokens with " + with + ", which has " +
           std::to_string(other.size());
  for (std::size_t i = 0; i < said.size; ++i)
    if (ids[i] != other[i])
      return "token " + std::to_string(i) + " is " + std::to_string(ids[i]) + ", and " + std::to_string(other[i]) +
             " in " + with + ", with which it says that it shares " + std::to_string(said.size) + " tokens";
  return std::nullopt;
}

}  // namespace detail

/// Reads samples with the ids of their tokens, a JSON object a line.
///
///   {"input_ids": [5, 6, 7, 8], "loss_mask": [0, 0, 1, 1]}
///
/// Members   the tokens: of the field that is asked for, "a+b" of which is one behind the other; else "input_ids" or
///           "tokens". Which of them are trained on: "loss_weights", numbers by which their loss is multiplied;
///           "loss_mask" or "assistant_masks", 0 or 1; or "labels", -100 of those that are not. Without one of these
///           all are. Nothing predicts the first token, so it never is. Where "attention_mask" has a 0, a token is
///           left out. "shares": [row, tokens] says how many of its first tokens a sample has of an earlier data row:
///           they are compared
/// Rule      tokens behind the last target of a sample are left out, and samples without targets
/// Errors    unreadable: the stream; invalid_input: what it holds, with the line
/// Complexity O(file size)
[[nodiscard]] inline result<token_list> read_token_lines(std::istream& in, const std::string& file,
                                                         std::string_view field = {},
                                                         empty_sequences empty = empty_sequences::skip) {
  token_list made;
  detail::length_rows rows(lengths_format::jsonl, empty);
  std::vector<std::vector<std::int32_t>> all;  // of each row, the empty ones too
  for (detail::numbered_lines lines(in); lines.next();) {
    const auto place = [&] { return file + ": line " + std::to_string(lines.number()); };
    std::optional<detail::said_sharing> shares;
    result<detail::token_line> read = detail::read_json(lines.line(), place(), [&](const detail::json_place& sample) {
      detail::token_line line = detail::token_line_in(sample, field);
      shares = detail::sharing_in(sample, all.size(), line.ids.size());
      return line;
    });
    if (!read) return detail::not_json(lines.line(), place(), read.error(), false);
    std::vector<std::int32_t>& ids = all.emplace_back(std::move(read.value().ids));
    if (shares)
      if (const std::optional<std::string> wrong = detail::sharing_fault(ids, all[shares->row], *shares))
        return error{errc::invalid_input, place() + ": " + *wrong};
    if (result<void> added = rows.add(static_cast<std::int64_t>(ids.size()), detail::told::counted, place); !added)
      return std::move(added).error();
    if (!ids.empty()) made.targets.push_back(std::move(read.value().targets));
  }
  if (in.bad()) return error{errc::unreadable, file + ": could not be read to its end"};
  std::erase_if(all, [](const auto& ids) { return ids.empty(); });
  made.ids = std::move(all);
  result<lengths_list> list = std::move(rows).end(file);
  if (!list) return std::move(list).error();
  made.list = std::move(list).value();
  detail::leave_tails_out(made);
  if (made.ids.empty()) return error{errc::invalid_input, file + ": its samples train on no token"};
  return made;
}

/// The same from a file.            Errors  unreadable: the file, too
[[nodiscard]] inline result<token_list> read_token_lines(const std::filesystem::path& file, std::string_view field = {},
                                                         empty_sequences empty = empty_sequences::skip) {
  result<std::ifstream> in = detail::open_to_read(file);
  if (!in) return std::move(in).error();
  return read_token_lines(in.value(), file.string(), field, empty);
}

}  // namespace slimpack::io

#endif
