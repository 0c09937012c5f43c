#ifndef SLIMPACK_SOLVERS_DIVIDE_FOREST_CUTS_HPP
#define SLIMPACK_SOLVERS_DIVIDE_FOREST_CUTS_HPP

#include <slimpack/core/forest_cut.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::divide {

/// Cuts a forest so that replicas can run its trees. A tree with more work than a limit becomes several: each has
/// leaves that follow each other, with the paths to them. A path that several have is at home in the first, and copied
/// into the others.
///
/// Cuts      a tree that is to be k is cut where a share of floor(k / 2) and the rest differ least in work for each of
///           their trees, copies included, and both so again
/// Source    contiguous runs of leaves in depth-first order, as in AReaL's balance by depth-first search; the cut by
///           shares is derived
/// Law       uncut() of what it gives is the batch
/// Units     seconds, of the busiest stage
class forest_cuts {
 public:
  /// Shapes    batch: all sequences by id, in depth-first order; work: of each
  /// Requires  both outlive it            Complexity  O(sequences)
  forest_cuts(std::span<const sequence> batch, std::span<const double> work)
      : batch_(batch), work_(work), path_(batch.size()) {
    std::vector<bool> is_leaf(batch.size(), true);
    for (const sequence& s : batch) {
      path_[s.id.value] = work[s.id.value] + (s.is_root() ? 0 : path_[s.parent.value]);
      if (!s.is_root()) is_leaf[s.parent.value] = false;
    }
    std::vector<std::uint32_t> before;  // path of the leaf before
    for (std::uint32_t i = 0; i < batch.size(); ++i) {
      if (!is_leaf[i]) continue;
      std::vector<std::uint32_t> path = path_of(i);
      const auto [common, other] = std::mismatch(path.begin(), path.end(), before.begin(), before.end());
      const double shared = common == path.begin() ? 0 : path_[*(common - 1)];
      if (common == path.begin()) trees_.push_back(static_cast<std::uint32_t>(leaves_.size()));
      leaves_.push_back({i, path_[i] - shared, (leaves_.empty() ? 0 : leaves_.back().sum) + path_[i] - shared});
      before = std::move(path);
    }
  }

  /// Every tree of more work than this is cut in as many as it has that much.
  [[nodiscard]] forest_cut by_work(double limit) const {
    return cut([&](leaf_run tree, std::vector<leaf_run>& pieces) {
      const double parts = limit > 0 ? std::ceil(work_of(tree) / limit * (1 - 1e-9)) : 1;
      const auto most = static_cast<double>(tree.second - tree.first);
      split(tree, static_cast<std::size_t>(std::clamp(parts, 1.0, most)), pieces);
    });
  }
  /// Each leaf has its whole path: nothing is shared.
  [[nodiscard]] forest_cut flat() const {
    return cut([](leaf_run tree, std::vector<leaf_run>& pieces) {
      for (std::size_t at = tree.first; at < tree.second; ++at) pieces.push_back({at, at + 1});
    });
  }

 private:
  struct leaf {
    std::uint32_t sequence{};
    double more{};  // work of its path behind what the leaf before has of it
    double sum{};   // of `more` up to it
  };
  using leaf_run = std::pair<std::size_t, std::size_t>;  // [first, second) of leaves_

  [[nodiscard]] std::vector<std::uint32_t> path_of(std::uint32_t i) const {
    std::vector<std::uint32_t> path{i};
    while (!batch_[path.back()].is_root()) path.push_back(batch_[path.back()].parent.value);
    std::reverse(path.begin(), path.end());
    return path;
  }
  /// Work of the paths to some leaves, each sequence once.
  [[nodiscard]] double work_of(leaf_run of) const {
    return path_[leaves_[of.first].sequence] + leaves_[of.second - 1].sum - leaves_[of.first].sum;
  }

  /// Cuts leaves in so many runs.            Complexity  O(leaves * log parts)
  void split(leaf_run of, std::size_t parts, std::vector<leaf_run>& pieces) const {
    if (parts <= 1 || of.second - of.first <= 1) return pieces.push_back(of);
    const std::size_t first = parts / 2;
    std::size_t best = of.first + 1;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t at = of.first + 1; at < of.second; ++at) {
      const double most = std::max(work_of({of.first, at}) / static_cast<double>(first),
                                   work_of({at, of.second}) / static_cast<double>(parts - first));
      if (most < least) least = most, best = at;
    }
    split({of.first, best}, first, pieces);
    split({best, of.second}, parts - first, pieces);
  }

  template <class Split>
  [[nodiscard]] forest_cut cut(const Split& split_tree) const {
    forest_cut made;
    made.lengths.resize(batch_.size()), made.parents.resize(batch_.size(), no_parent);
    std::vector<bool> has_home(batch_.size());
    std::vector<leaf_run> pieces;
    for (std::size_t t = 0; t < trees_.size(); ++t) {
      pieces.clear();
      split_tree({trees_[t], t + 1 < trees_.size() ? trees_[t + 1] : leaves_.size()}, pieces);
      for (const leaf_run& piece : pieces) add(piece, has_home, made);
    }
    std::sort(made.copies.begin(), made.copies.end(),
              [](const path_copy& a, const path_copy& b) { return a.sequence < b.sequence; });
    return made;
  }

  /// Adds the paths to some leaves. A copied sequence from which one other goes on is joined with it.
  void add(leaf_run piece, std::vector<bool>& has_home, forest_cut& to) const {
    struct member {
      std::uint32_t sequence{};
      std::size_t parent{};  // index of it here, itself of a root
      std::uint32_t children{};
      bool is_home{};
    };
    std::vector<member> members;  // parents before children
    std::vector<std::uint32_t> before;
    std::vector<std::size_t> places;  // of `before`, in members
    for (std::size_t l = piece.first; l < piece.second; ++l) {
      const std::vector<std::uint32_t> path = path_of(leaves_[l].sequence);
      std::size_t at = 0;
      while (at < path.size() && at < before.size() && path[at] == before[at]) ++at;
      places.resize(at);
      for (; at < path.size(); ++at) {
        const std::size_t parent = at == 0 ? members.size() : places[at - 1];
        members.push_back({path[at], parent, 0, !has_home[path[at]]});
        if (at > 0) ++members[parent].children;
        has_home[path[at]] = true;
        places.push_back(members.size() - 1);
      }
      before = path;
    }
    std::vector<sequence_id> id(members.size());  // in the cut forest; of a joined one, of what it goes on from
    std::vector<tokens> begin(members.size());    // where it begins, with what is joined to it
    for (std::size_t k = 0; k < members.size(); ++k) {
      const member& m = members[k];
      const sequence& s = batch_[m.sequence];
      const bool is_root = m.parent == k;
      const bool joins = !is_root && !members[m.parent].is_home && members[m.parent].children == 1;
      begin[k] = joins ? begin[m.parent] : s.begin;
      const sequence_id from = is_root ? no_parent : id[m.parent];
      if (!m.is_home && m.children == 1) {
        id[k] = from;
        continue;
      }
      id[k] = m.is_home ? s.id : sequence_id{static_cast<std::uint32_t>(to.lengths.size())};
      if (!m.is_home) to.lengths.emplace_back(), to.parents.push_back(no_parent);
      to.lengths[id[k].value] = s.end() - begin[k];
      to.parents[id[k].value] = from;
      if (!m.is_home)
        to.copies.push_back({id[k], s.id, s.end()});
      else if (begin[k] < s.begin)
        to.copies.push_back({id[k], s.parent, s.begin});
    }
  }

  std::span<const sequence> batch_;
  std::span<const double> work_;
  std::vector<double> path_;          // work of each sequence's path
  std::vector<leaf> leaves_;          // in depth-first order
  std::vector<std::uint32_t> trees_;  // the first leaf of each
};

}  // namespace slimpack::divide

#endif
