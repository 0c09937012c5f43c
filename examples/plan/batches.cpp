#include "batches.hpp"

#include "lengths_file.hpp"

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>

namespace cli {
namespace {

using slimpack::errc;
using slimpack::error;
using slimpack::result;
using slimpack::tokens;

/// Sequences over the limit, as --over-long says. Returns a note, empty when there were none.
result<std::string> limit(std::vector<tokens>& lengths, tokens most, over_long what) {
  const auto longer = [most](tokens length) { return length > most; };
  const auto count = std::count_if(lengths.begin(), lengths.end(), longer);
  if (count == 0) return std::string{};
  const std::string text = std::to_string(count) + " of " + std::to_string(lengths.size()) +
                           " sequences exceed --max-context " + std::to_string(most.value);
  switch (what) {
    case over_long::reject:
      return error{errc::invalid_input, text + " (the longest has " +
                                            std::to_string(std::max_element(lengths.begin(), lengths.end())->value) +
                                            " tokens); add --over-long truncate or drop"};
    case over_long::truncate:
      std::replace_if(lengths.begin(), lengths.end(), longer, most);
      return text + ": truncated";
    case over_long::drop:
      std::erase_if(lengths, longer);
      if (lengths.empty()) return error{errc::invalid_input, text + ": nothing is left to plan"};
      return text + ": dropped";
  }
  return std::string{};
}

/// More sequences than steps of training usually have; where --batch is not given, such a list is rather a data set.
constexpr std::size_t many_sequences = 2048;

/// Fisher-Yates with a modulus, so that a seed means the same order with every standard library.
void shuffle(std::vector<tokens>& lengths, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = lengths.size(); i > 1; --i) std::swap(lengths[i - 1], lengths[random() % i]);
}

/// Batches in file order, each as long as the budget of tokens lets it be.
result<void> fill(std::vector<std::vector<tokens>>& made, const std::vector<tokens>& lengths, const options& o) {
  const std::string budget = "--token-budget " + std::to_string(o.token_budget->value);
  tokens used{};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] > *o.token_budget)
      return error{errc::invalid_input, "sequence " + std::to_string(i) + " has " + std::to_string(lengths[i].value) +
                                            " tokens, more than " + budget + "; raise it, or add --max-context " +
                                            std::to_string(o.token_budget->value) + " --over-long truncate or drop"};
    if (made.size() > o.batches) continue;  // only the lengths of what is left are still looked at
    if (made.empty() || used + lengths[i] > *o.token_budget) made.emplace_back(), used = tokens{};
    made.back().push_back(lengths[i]);
    used += lengths[i];
  }
  if (made.size() < o.batches)
    return error{errc::invalid_input, o.lengths.string() + " fills " + std::to_string(made.size()) + " of the " +
                                          std::to_string(o.batches) + " batches of " + budget +
                                          " that are asked for; lower --batches"};
  made.resize(o.batches);
  return slimpack::success();
}

}  // namespace

result<batches> load(const options& o) {
  if (!o.takes_list) return batches{{o.from->made->lengths}, {}};
  result<std::vector<tokens>> read = lengths_of(o);
  if (!read) return std::move(read).error();
  std::vector<tokens>& lengths = read.value();
  batches found;
  if (o.max_context) {
    result<std::string> note = limit(lengths, *o.max_context, o.over_long);
    if (!note) return std::move(note).error();
    if (!note.value().empty()) found.notes.push_back(std::move(note).value());
  }
  if (o.seed) shuffle(lengths, *o.seed);
  if (o.token_budget) {
    if (result<void> filled = fill(found.lengths, lengths, o); !filled) return std::move(filled).error();
    return found;
  }
  const std::size_t size = o.batch.value_or(lengths.size());
  if (size > lengths.size() / o.batches)
    return error{errc::invalid_input, o.lengths.string() + " holds " + std::to_string(lengths.size()) + " sequences, " +
                                          std::to_string(o.batches) + " x " + std::to_string(size) +
                                          " are asked for; lower --batch or --batches"};
  if (!o.batch && size > many_sequences)
    found.notes.push_back("all " + std::to_string(size) +
                          " sequences are planned as one batch, one step of training; --batch 512 plans the first 512");
  for (std::size_t b = 0; b < o.batches; ++b) {
    const auto first = lengths.begin() + static_cast<std::ptrdiff_t>(b * size);
    found.lengths.emplace_back(first, first + static_cast<std::ptrdiff_t>(size));
  }
  return found;
}

}  // namespace cli
