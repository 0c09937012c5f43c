#ifndef SLIMPACK_CORE_FOREST_HPP
#define SLIMPACK_CORE_FOREST_HPP

#include <slimpack/core/batch_view.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace slimpack {

/// Where samples end: the path down to a token of a sequence is one, or several equal ones.
struct sample_end {
  sequence_id sequence;
  tokens at;               ///< tokens of the path, this one the last: more than the sequence's begin, at most its end
  std::uint32_t count{1};  ///< of equal samples
  friend constexpr bool operator==(const sample_end&, const sample_end&) = default;
};

/// Tokens of a sequence that are trained on: each is predicted by the token before it on its path, which for the first
/// token of a sequence is the last one of its parent. Such a pair is an edge: where a sequence has several children, its
/// last token has one target in each of them.
struct target_run {
  sequence_id sequence;
  tokens begin;            ///< on the path; at least 1, as nothing predicts the first token of a root
  tokens length;           ///< none reaches beyond its sequence
  std::uint32_t count{1};  ///< samples that train on each of them: what the mean of a loss is over
  double weight{1};        ///< sum over these samples of what their loss is multiplied by: any finite number, which
                           ///< changes gradients and no count
  friend constexpr bool operator==(const target_run&, const target_run&) = default;
};

/// A batch of samples that share beginnings. Its nodes are sequences (core/sequence.hpp) in depth-first order; one ends
/// where samples part, and elsewhere only where its builder let it.
///
///   slimpack::forest two_answers{.lengths = {{512}, {90}, {70}},
///                                .parents = {slimpack::no_parent, {0}, {0}},
///                                .samples = {{{1}, {602}}, {{2}, {582}}},
///                                .targets = {{{1}, {512}, {90}}, {{2}, {512}, {70}}}};
///
/// Shapes    lengths, parents: one per sequence; samples, targets: any, in ascending order of sequence and place, targets
///           without overlap
struct forest {
  std::vector<tokens> lengths;
  std::vector<sequence_id> parents{};
  std::vector<sample_end> samples{};
  std::vector<target_run> targets{};

  operator batch_view() const noexcept { return {lengths, parents}; }

  /// What is wrong with it, if anything, and where.            Complexity  O(sequences + samples + targets)
  [[nodiscard]] std::optional<std::string> fault() const;
  friend bool operator==(const forest&, const forest&) = default;
};

namespace detail {

/// What is wrong with tokens [begin, end) that are said to be of a sequence, and come behind those before them.
[[nodiscard]] inline std::optional<std::string> range_fault(const std::vector<sequence>& all, sequence_id id,
                                                            tokens begin, tokens end) {
  const auto range = [](tokens from, tokens to) {
    return "[" + std::to_string(from.value) + ", " + std::to_string(to.value) + ")";
  };
  if (id.value >= all.size())
    return "of sequence " + std::to_string(id.value) + ", and there are " + std::to_string(all.size());
  const sequence& s = all[id.value];
  if (begin >= end) return "of no token: " + range(begin, end);
  if (begin < s.begin || end > s.end())
    return range(begin, end) + " of its path, and the tokens of sequence " + std::to_string(id.value) + " are " +
           range(s.begin, s.end());
  return std::nullopt;
}

}  // namespace detail

inline std::optional<std::string> forest::fault() const {
  const batch_view batch = *this;
  if (std::optional<std::string> wrong = batch.fault()) return wrong;
  const std::vector<sequence> all = batch.sequences();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const sample_end& s = samples[i];
    const std::string name = "end " + std::to_string(i) + " of samples is ";
    if (const auto wrong = detail::range_fault(all, s.sequence, s.at - tokens{1}, s.at)) return name + *wrong;
    if (s.count == 0) return name + "of no sample";
    if (i == 0) continue;
    const sample_end& before = samples[i - 1];
    if (s.sequence < before.sequence || (s.sequence == before.sequence && s.at <= before.at))
      return name + "not behind the one before it: they are in ascending order of sequence and place";
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const target_run& t = targets[i];
    const std::string name = "run " + std::to_string(i) + " of targets is ";
    if (const auto wrong = detail::range_fault(all, t.sequence, t.begin, t.begin + t.length)) return name + *wrong;
    if (t.begin < tokens{1}) return name + "of the first token of a root, which nothing predicts";
    if (t.count == 0) return name + "of no sample";
    if (!std::isfinite(t.weight)) return name + "weighted by " + std::to_string(t.weight) + ", which is not finite";
    if (i == 0) continue;
    const target_run& before = targets[i - 1];
    if (t.sequence < before.sequence || (t.sequence == before.sequence && t.begin < before.begin + before.length))
      return name + "not behind the one before it: they are in ascending order of sequence and place, without overlap";
  }
  return std::nullopt;
}

}  // namespace slimpack

#endif
