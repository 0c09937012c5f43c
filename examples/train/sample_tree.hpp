#ifndef SLIMPACK_EXAMPLES_TRAIN_SAMPLE_TREE_HPP
#define SLIMPACK_EXAMPLES_TRAIN_SAMPLE_TREE_HPP

#include "corpus.hpp"

#include <slimpack/core/forest.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace train {

/// Samples that share beginnings, all of which are a step, as they are planned: the sequences of their tree; or flat,
/// each sample with a copy of its whole path.
class sample_tree {
 public:
  /// Requires  tree: without a fault()
  explicit sample_tree(slimpack::forest tree, bool is_flat);

  [[nodiscard]] const slimpack::forest& planned() const noexcept { return planned_; }
  [[nodiscard]] slimpack::tokens longest() const noexcept { return longest_; }
  /// Different tokens, and those of all samples.
  [[nodiscard]] slimpack::tokens tokens() const noexcept { return tokens_; }
  [[nodiscard]] slimpack::tokens flat_tokens() const noexcept { return flat_tokens_; }
  [[nodiscard]] std::size_t samples() const noexcept { return ends_.size(); }

 private:
  friend class tree_texts;
  void flatten();

  slimpack::forest tree_, planned_;
  std::vector<slimpack::sequence> sequences_;  // of the tree
  std::vector<slimpack::sample_end> ends_;     // of the samples, each by itself
  bool is_flat_;
  slimpack::tokens longest_, tokens_, flat_tokens_;
};

/// Bytes for the samples of a tree: those of a corpus, one sequence of the tree after the other. Each step goes on where
/// the one before ended, and has the same bytes for a tree and for flat copies of its samples.
class tree_texts {
 public:
  /// Requires  both outlive it
  tree_texts(const sample_tree& samples, const corpus& texts) : samples_(samples), texts_(texts) {}

  /// The bytes of the path of each sequence that is planned.
  [[nodiscard]] std::vector<corpus::document> next();

 private:
  std::uint8_t next_byte();

  const sample_tree& samples_;
  const corpus& texts_;
  std::size_t document_{}, at_{};
  std::vector<std::vector<std::uint8_t>> paths_;  // of the tree's sequences
};

}  // namespace train

#endif
