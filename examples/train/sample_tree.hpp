#ifndef SLIMPACK_EXAMPLES_TRAIN_SAMPLE_TREE_HPP
#define SLIMPACK_EXAMPLES_TRAIN_SAMPLE_TREE_HPP

#include "corpus.hpp"

#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace train {

/// Samples that share beginnings, all of which are a step: their tree, and flat copies, each sample with its whole
/// path.
class sample_tree {
 public:
  /// Requires  tree: without a fault()
  explicit sample_tree(slimpack::forest tree);

  [[nodiscard]] const slimpack::forest& tree() const noexcept { return tree_; }
  /// Those of its paths are its sequences. A target that several train on is one of the first of them, for all.
  [[nodiscard]] const slimpack::forest& flat() const noexcept { return flat_; }
  [[nodiscard]] slimpack::tokens longest() const noexcept { return longest_; }

  /// Bytes for the paths of the tree's sequences: a corpus's, from the byte of that number on, one sequence after the
  /// other. The number grows by how many they are.
  [[nodiscard]] std::vector<std::vector<std::uint8_t>> paths(const corpus& texts, std::size_t& from) const;
  /// Of the flat copies, the same paths.
  [[nodiscard]] std::vector<corpus::document> flat_of(std::span<const corpus::document> paths) const;

 private:
  void flatten();

  slimpack::forest tree_, flat_;
  std::vector<slimpack::sequence> sequences_;  // of the tree
  std::vector<slimpack::sample_end> ends_;     // of the samples, each by itself
  slimpack::tokens longest_;
};

}  // namespace train

#endif
