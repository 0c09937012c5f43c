#ifndef SLIMPACK_FORESTS_DETAIL_FORK_TREE_HPP
#define SLIMPACK_FORESTS_DETAIL_FORK_TREE_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/forests/detail/sorted_texts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::forests::detail {

/// Where sorted texts part. Its leaves are texts that no other goes on from; all others end on the path of a leaf.
class fork_tree {
 public:
  /// Forks that save fewer tokens than `least` are left out (forests/from_tokens.hpp).
  /// Requires  no text is empty
  fork_tree(const sorted_texts& sorted, std::span<const token_text> all, tokens least)
      : least_(least), end_(all.size()) {
    nodes_.push_back({});  // above all roots
    open_.push_back(0);
    std::size_t shared = 0;
    std::vector<std::uint32_t> here;  // texts that end on the path of the next leaf
    for (std::size_t k = 0; k < all.size(); ++k) {
      const std::uint32_t i = sorted.order[k];
      shared = std::min(shared, sorted.shared[k]);
      here.push_back(i);
      if (k + 1 < all.size() && sorted.shared[k + 1] == all[i].size()) continue;  // the next one goes on from it
      close(shared);
      const auto leaf = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({.depth = all[i].size()});
      for (const std::uint32_t one : here) end_[one] = leaf;
      open_.push_back(leaf);
      here.clear();
      shared = std::numeric_limits<std::size_t>::max();
    }
    close(0);
    settle(all);
  }

  /// Calls add(id of the parent or no_parent.value, end of the path, the first text that has it) with each sequence:
  /// parents first, each subtree in one piece, branches by the first text that has them. `add` returns the id.
  template <class Add>
  void visit(const Add& add) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> next;  // a node, the id of its parent
    std::vector<std::uint32_t> branches;
    const auto go_on = [&](std::uint32_t node, std::uint32_t id) {
      branches.clear();
      for (std::uint32_t b = nodes_[node].branch; b != none; b = nodes_[b].next) branches.push_back(b);
      std::sort(branches.begin(), branches.end(),
                [&](std::uint32_t a, std::uint32_t b) { return nodes_[a].first > nodes_[b].first; });
      for (const std::uint32_t b : branches) next.emplace_back(b, id);
    };
    for (go_on(0, no_parent.value); !next.empty();) {
      const auto [node, parent] = next.back();
      next.pop_back();
      nodes_[node].id = add(parent, tokens{static_cast<std::int64_t>(nodes_[node].depth)}, nodes_[node].text);
      go_on(node, nodes_[node].id);
    }
  }

  /// The id of the sequence that a text ends in.            Requires  visited
  [[nodiscard]] std::uint32_t id_of(std::size_t which) const { return nodes_[end_[which]].id; }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  struct fork {
    std::size_t depth{};
    std::uint32_t text{none};   ///< the first one that has all tokens up to here
    std::uint32_t first{none};  ///< text that ends here or below
    std::uint32_t above{};
    std::uint32_t branch{none}, last{none}, branches{};
    std::uint32_t next{none};  ///< branch of the same fork
    std::uint32_t id{};
  };

  /// No more texts have more than so many tokens in common with the last one.
  void close(std::size_t shared) {
    while (nodes_[open_.back()].depth > shared) {
      const std::uint32_t done = open_.back();
      open_.pop_back();
      if (nodes_[open_.back()].depth < shared) {
        open_.push_back(static_cast<std::uint32_t>(nodes_.size()));
        nodes_.push_back({.depth = shared});
      }
      hang(done, nodes_[open_.back()]);
    }
  }

  /// Makes a node that has all of its branches a branch of the fork before it, or its branches, if it saves too little.
  void hang(std::uint32_t which, fork& before) {
    fork& done = nodes_[which];
    const std::size_t saved = done.branches == 0 ? 0 : (done.branches - 1) * (done.depth - before.depth);
    const bool stays = done.branches == 0 || saved >= static_cast<std::size_t>(least_.value);
    const std::uint32_t begin = stays ? which : done.branch;
    (before.last == none ? before.branch : nodes_[before.last].next) = begin;
    before.last = stays ? which : done.last;
    before.branches += stays ? 1 : done.branches;
  }

  /// Finds where texts end, when all forks are known.
  void settle(std::span<const token_text> all) {
    std::vector<std::uint32_t> order{0};  // parents first
    for (std::size_t k = 0; k < order.size(); ++k)
      for (std::uint32_t b = nodes_[order[k]].branch; b != none; b = nodes_[b].next)
        nodes_[b].above = order[k], order.push_back(b);
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      std::uint32_t& end = end_[i];
      while (nodes_[nodes_[end].above].depth >= all[i].size()) end = nodes_[end].above;
      nodes_[end].first = std::min(nodes_[end].first, i);
      if (nodes_[end].depth == all[i].size()) nodes_[end].text = std::min(nodes_[end].text, i);
    }
    for (std::size_t k = order.size(); k-- > 1;) {
      const fork& one = nodes_[order[k]];
      fork& above = nodes_[one.above];
      above.first = std::min(above.first, one.first), above.text = std::min(above.text, one.first);
    }
  }

  tokens least_;
  std::vector<fork> nodes_;
  std::vector<std::uint32_t> end_;   ///< node in which each text ends
  std::vector<std::uint32_t> open_;  ///< from the root to the last text: nodes that may have more branches
};

}  // namespace slimpack::forests::detail

#endif
