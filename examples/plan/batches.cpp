#include "batches.hpp"

#include "lengths_file.hpp"
#include "texts.hpp"

#include <slimpack/core/forest/uncut.hpp>
#include <slimpack/forests/from_tokens.hpp>
#include <slimpack/io/forests/token_lines.hpp>
#include <slimpack/io/forests/tree_lines.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cli {
namespace {

using slimpack::errc;
using slimpack::error;
using slimpack::result;
using slimpack::tokens;

/// A sequence of the list, and its data row.
struct listed_sequence {
  tokens length;
  std::uint64_t row{};
  tokens padding{};     ///< of its length
  std::size_t place{};  ///< in the file, among those with tokens
};

tokens total(std::span<const listed_sequence> list) {
  tokens sum{};
  for (const listed_sequence& one : list) sum += one.length;
  return sum;
}

/// Sequences over the limit, as --over-long says. Returns a note, empty when there were none.
result<std::string> limit(std::vector<listed_sequence>& list, tokens most, over_long what) {
  const auto longer = [most](const listed_sequence& one) { return one.length > most; };
  const auto count = std::count_if(list.begin(), list.end(), longer);
  if (count == 0) return std::string{};
  const std::string text = std::to_string(count) + " of " + std::to_string(list.size()) +
                           " sequences exceed --max-context " + std::to_string(most.value);
  const tokens before = total(list);
  const auto lost = [&] {
    const tokens gone = before - total(list);
    return ", which loses " + std::to_string(gone.value) + " of the " + std::to_string(before.value) +
           " tokens of the list, " + percent(static_cast<double>(gone.value) / static_cast<double>(before.value), 2);
  };
  switch (what) {
    case over_long::reject: {
      const auto shorter = [](const listed_sequence& a, const listed_sequence& b) { return a.length < b.length; };
      return error{errc::invalid_input,
                   text + " (the longest has " +
                       std::to_string(std::max_element(list.begin(), list.end(), shorter)->length.value) +
                       " tokens); add --over-long truncate or drop"};
    }
    case over_long::truncate:
      for (listed_sequence& one : list) one.length = std::min(one.length, most);
      return text + ": truncated" + lost();
    case over_long::drop:
      std::erase_if(list, longer);
      if (list.empty()) return error{errc::invalid_input, text + ": nothing is left to plan"};
      return text + ": dropped" + lost();
  }
  return std::string{};
}

void pad(std::vector<listed_sequence>& list, tokens to) {
  for (listed_sequence& one : list) {
    const tokens length = padded(one.length, to);
    one.padding = length - one.length, one.length = length;
  }
}

/// Fisher-Yates with a modulus, so that a seed means the same order with every standard library.
void shuffle(std::vector<listed_sequence>& list, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random() % i]);
}

/// Adds the next batch of a list, and where its sequences stand in the file.
void add(batches& made, std::span<const listed_sequence> batch, const std::string& file,
         std::vector<std::vector<std::size_t>>& places) {
  made.lengths.emplace_back();
  std::vector<std::size_t>& its = places.emplace_back();
  slimpack::plan_data& data = made.data.emplace_back(slimpack::plan_data{file, {}}).value();
  tokens& padding = made.padding.emplace_back();
  for (const listed_sequence& one : batch)
    made.lengths.back().push_back(one.length), data.rows.push_back(one.row), padding += one.padding,
        its.push_back(one.place);
}

/// Makes the sequences of the batches those of forests: samples of the file whose first tokens are equal share them.
result<void> share(batches& made, std::span<const std::vector<std::size_t>> places,
                   const slimpack::io::token_list& file, const fork_price_of& price) {
  tokens longest{};
  for (const std::vector<tokens>& lengths : made.lengths)
    longest = std::max(longest, *std::max_element(lengths.begin(), lengths.end()));
  const result<tokens> least = price(longest);
  if (!least) return least.error();
  if (least.value() > tokens{1})
    made.notes.push_back("a fork of samples takes as long as " + std::to_string(least.value().value) +
                         " tokens: where it saves less, each sample has its tokens for itself");
  for (std::size_t b = 0; b < made.lengths.size(); ++b) {
    std::vector<slimpack::forests::token_sample> samples;
    for (const std::size_t place : places[b]) samples.push_back({file.ids[place], file.targets[place]});
    slimpack::result<slimpack::forests::token_forest> shared = slimpack::forests::from_tokens(samples, least.value());
    if (!shared) return std::move(shared).error();
    std::vector<std::uint64_t> rows;
    for (const std::uint32_t sample : shared.value().text) rows.push_back(made.data[b]->rows[sample]);
    made.data[b]->rows = std::move(rows);
    made.lengths[b] = shared.value().all.lengths;
    made.forests.push_back(std::move(shared).value().all);
  }
  return slimpack::success();
}

/// The one batch of a tree.
result<batches> load_tree(const options& o) {
  result<slimpack::io::forest_list> read = tree_of(o);
  if (!read) return std::move(read).error();
  slimpack::io::forest_list& tree = read.value();
  if (const tokens longest = slimpack::batch_view(tree.all).longest(); o.max_context && longest > *o.max_context)
    return error{errc::invalid_input, "the longest sample of " + o.lengths.string() + " has " +
                                          std::to_string(longest.value) + " tokens, more than --max-context " +
                                          std::to_string(o.max_context->value)};
  batches made{{tree.all.lengths},
               {slimpack::plan_data{o.lengths.string(), std::move(tree.rows)}},
               std::move(tree.notes),
               {tokens{}}};
  made.forests.push_back(std::move(tree.all));
  return made;
}

/// The batch of a plan file, as it was before replicas had copies of paths.
result<batches> batch_of_file(const slimpack::plan& p) {
  batches made{{p.lengths}, {p.data}, {}, {tokens{}}};
  if (!is_forest(p)) return made;
  result<slimpack::uncut_forest> whole = slimpack::uncut(batch_of(p), p.copies);
  if (!whole) return std::move(whole).error();
  if (p.data) made.data.front()->rows.resize(whole.value().lengths.size());
  made.lengths.front() = whole.value().lengths;
  made.forests.push_back({std::move(whole.value().lengths), std::move(whole.value().parents), p.samples, p.targets});
  return made;
}

/// Batches in file order, each as long as the budget of tokens lets it be.
result<void> fill(batches& made, std::span<const listed_sequence> list, const options& o,
                  std::vector<std::vector<std::size_t>>& places) {
  const std::string budget = "--token-budget " + std::to_string(o.token_budget->value);
  const auto is_too_long = [&](const listed_sequence& one) { return one.length > *o.token_budget; };
  if (const auto found = std::find_if(list.begin(), list.end(), is_too_long); found != list.end())
    return error{errc::invalid_input, "sequence " + std::to_string(found - list.begin()) + " has " +
                                          std::to_string(found->length.value) + " tokens, more than " + budget +
                                          "; raise it, or add --max-context " + std::to_string(o.token_budget->value) +
                                          " --over-long truncate or drop"};
  while (made.lengths.size() < o.batches && !list.empty()) {
    tokens used{};
    std::size_t size = 0;
    while (size < list.size() && used + list[size].length <= *o.token_budget) used += list[size++].length;
    add(made, list.first(size), o.lengths.string(), places);
    list = list.subspan(size);
  }
  if (made.lengths.size() < o.batches)
    return error{errc::invalid_input, o.lengths.string() + " fills " + std::to_string(made.lengths.size()) +
                                          " of the " + std::to_string(o.batches) + " batches of " + budget +
                                          " that are asked for; lower --batches"};
  return slimpack::success();
}

/// Takes the batches of a list, as the options say.
result<void> take(batches& found, std::vector<listed_sequence> list, const options& o,
                  std::vector<std::vector<std::size_t>>& places) {
  if (o.max_context) {
    result<std::string> note = limit(list, *o.max_context, o.over_long);
    if (!note) return std::move(note).error();
    if (!note.value().empty()) found.notes.push_back(std::move(note).value());
  }
  if (o.pad_to) pad(list, *o.pad_to);
  if (o.seed) shuffle(list, *o.seed);
  if (o.token_budget) return fill(found, list, o, places);
  const std::size_t size = o.batch.value_or(list.size());
  if (size > list.size() / o.batches)
    return error{errc::invalid_input, o.lengths.string() + " holds " + std::to_string(list.size()) + " sequences, " +
                                          std::to_string(o.batches) + " x " + std::to_string(size) +
                                          " are asked for; lower --batch or --batches"};
  if (!o.batch && size > many_sequences)
    found.notes.push_back("all " + std::to_string(size) +
                          " sequences are planned as one batch, one step of training; --batch 512 plans the first 512");
  for (std::size_t b = 0; b < o.batches; ++b)
    add(found, std::span(list).subspan(b * size, size), o.lengths.string(), places);
  return slimpack::success();
}

}  // namespace

result<batches> load(const options& o, const fork_price_of& price) {
  if (!o.takes_list) return batch_of_file(*o.from->made);
  if (o.is_tree) return load_tree(o);
  std::optional<slimpack::io::token_list> samples;
  if (o.shares_prefixes) {
    result<slimpack::io::token_list> read = samples_of(o);
    if (!read) return std::move(read).error();
    samples = std::move(read).value();
  }
  const result<slimpack::io::lengths_list> read =
      samples ? result<slimpack::io::lengths_list>(samples->list) : lengths_of(o);
  if (!read) return read.error();
  std::vector<listed_sequence> list;
  for (std::size_t i = 0; i < read.value().lengths.size(); ++i)
    list.push_back({read.value().lengths[i], read.value().rows[i], {}, i});
  batches found{{}, {}, read.value().notes};
  std::vector<std::vector<std::size_t>> places;  // of each batch
  result<void> taken = take(found, std::move(list), o, places);
  if (taken && samples) taken = share(found, places, *samples, price);
  if (!taken) return std::move(taken).error();
  return found;
}

}  // namespace cli
