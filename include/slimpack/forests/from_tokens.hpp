#ifndef SLIMPACK_FORESTS_FROM_TOKENS_HPP
#define SLIMPACK_FORESTS_FROM_TOKENS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/forests/detail/fork_tree.hpp>
#include <slimpack/forests/detail/sorted_texts.hpp>
#include <slimpack/forests/detail/target_sums.hpp>
#include <slimpack/forests/trained_run.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::forests {

/// A training sample as a trainer has it.
///
///   const std::vector<std::int32_t> ids{5, 6, 7, 8};
///   const trained_run answer[]{{{2}, {2}}};                      // 7 and 8 are trained on
///   const token_forest made = from_tokens(std::vector<token_sample>{{ids, answer}}).value();
///
/// Requires  what it refers to outlives it
struct token_sample {
  std::span<const std::int32_t> ids;
  std::span<const trained_run> targets{};  ///< ascending, without overlap
};

/// A forest of samples that are known by their tokens.
struct token_forest {
  forest all;
  std::vector<std::uint32_t> text;  ///< of each sequence, the first sample that has all tokens of its path
  std::vector<sequence_id> ends;    ///< of each sample, the sequence that it ends in; it ends behind as many tokens of
                                    ///< the path as it has
};

/// The forest of samples whose first tokens are equal as far as they are: sorted, with the longest common prefix of
/// each and the next one. Sequences, and the children of each, are in the order of the first sample that has them: of
/// samples that share nothing sequence i is sample i.
///
/// Rule      a fork, where samples part, is a sequence that ends: it saves the tokens from the fork before it to its
///           own, once for each of its branches but one, and costs a slice more (fork_price.hpp). From the last forks
///           to the first, one that saves less than `least` goes: each of its branches has these tokens for itself, and
///           starts at the fork before.
///           A sample that is the beginning of another, or equal to it, ends on its path: that is no fork, costs
///           nothing, and is always shared. Where forks that go make several such paths, it ends on one of them.
///           Counts and weights of targets add up over the samples of a path, in the order of samples
/// Law       each sample has its tokens on the path to its end; each fork saves `least` tokens; no sequence has one
///           child
/// Shapes    least: 1 shares all that is equal
/// Errors    invalid_input: a sample without tokens; too many samples, or a path that is too long; targets that are
///           out of order or beyond their sample; weights, or sums of them, that are not finite; least < 1
/// Complexity O(t + n log n) of t tokens in n samples, and O(runs of targets on sequences, with sorting)
/// Source    merging of sorted runs with their common prefixes: W. Ng, K. Kakehi, "Merging string sequences by longest
///           common prefixes", 2008; the tree of common prefixes: T. Kasai et al., CPM 2001; which forks go: derived
[[nodiscard]] inline result<token_forest> from_tokens(std::span<const token_sample> samples, tokens least = {1}) {
  if (least < tokens{1})
    return error{errc::invalid_input, "a fork is to save " + std::to_string(least.value) + " tokens: at least 1"};
  if (samples.size() >= std::numeric_limits<std::uint32_t>::max() / 2)  // there are fewer forks than samples
    return error{errc::invalid_input, "there are " + std::to_string(samples.size()) + " samples, more than 2^31"};
  std::vector<std::span<const std::int32_t>> texts;
  texts.reserve(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    texts.push_back(samples[i].ids);
    const auto length = static_cast<std::int64_t>(texts.back().size());
    if (length < 1 || length > longest_supported.value)
      return error{errc::invalid_input, "sample " + std::to_string(i) + " has " + std::to_string(length) +
                                            " tokens; lengths run from 1 to " +
                                            std::to_string(longest_supported.value)};
    if (const auto wrong = runs_fault(samples[i].targets, {length}))
      return error{errc::invalid_input, "sample " + std::to_string(i) + " has targets " + *wrong};
  }
  detail::fork_tree tree(detail::sorted_texts(texts), texts, least);
  token_forest made{{}, {}, std::vector<sequence_id>(samples.size())};
  std::vector<sequence> all;
  tree.visit([&](std::uint32_t parent, tokens end, std::uint32_t text) {
    sequence& s = all.emplace_back();
    s.id = {static_cast<std::uint32_t>(all.size() - 1)};
    if (parent != no_parent.value) s.parent = {parent}, s.begin = all[parent].end();
    s.length = end - s.begin;
    made.all.lengths.push_back(s.length);
    made.all.parents.push_back(s.parent);
    made.text.push_back(text);
    return s.id.value;
  });
  detail::target_sums sums(all);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const tokens length{static_cast<std::int64_t>(texts[i].size())};
    made.ends[i] = {tree.id_of(i)};
    made.all.samples.push_back({made.ends[i], length});
    sums.add(made.ends[i], samples[i].targets);
  }
  detail::sort_ends(made.all.samples);
  made.all.targets = std::move(sums).runs();
  for (const target_run& run : made.all.targets)
    if (!std::isfinite(run.weight))
      return error{errc::invalid_input, "the weights of targets of sequence " + std::to_string(run.sequence.value) +
                                            " add up to no finite number"};
  return made;
}

}  // namespace slimpack::forests

#endif
