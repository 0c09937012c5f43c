#ifndef SLIMPACK_CORE_FOREST_FOREST_HPP
#define SLIMPACK_CORE_FOREST_FOREST_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>

#include <cstdint>
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
/// token of a sequence is the last one of its parent. Such a pair is an edge: where a sequence has several children,
/// its last token has one target in each of them.
struct target_run {
  sequence_id sequence;
  tokens begin;            ///< on the path; at least 1, as nothing predicts the first token of a root
  tokens length;           ///< none reaches beyond its sequence
  std::uint32_t count{1};  ///< samples that train on each of them: what the mean of a loss is over
  double weight{1};        ///< sum over these samples of what their loss is multiplied by: any finite number, which
                           ///< changes gradients and no count
  friend constexpr bool operator==(const target_run&, const target_run&) = default;
};

/// A batch of samples that share beginnings; planners take it as a batch_view (batch_view.hpp). Its nodes are sequences
/// (core/sequence.hpp) in depth-first order; one ends where samples part, and elsewhere only where its builder let it.
///
///   slimpack::forest two_answers{.lengths = {{512}, {90}, {70}},
///                                .parents = {slimpack::no_parent, {0}, {0}},
///                                .samples = {{{1}, {602}}, {{2}, {582}}},
///                                .targets = {{{1}, {512}, {90}}, {{2}, {512}, {70}}}};
///
/// Shapes    lengths, parents: one per sequence; samples, targets: any, in ascending order of sequence and place,
///           targets without overlap
struct forest {
  std::vector<tokens> lengths;
  std::vector<sequence_id> parents{};
  std::vector<sample_end> samples{};
  std::vector<target_run> targets{};

  friend bool operator==(const forest&, const forest&) = default;
};

}  // namespace slimpack

#endif
