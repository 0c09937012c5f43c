#ifndef SLIMPACK_SOLVERS_DIVIDE_FOREST_CUTS_HPP
#define SLIMPACK_SOLVERS_DIVIDE_FOREST_CUTS_HPP

#include <slimpack/core/detail/indices.hpp>
#include <slimpack/core/forest/forest_cut.hpp>
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

/// Cuts a forest so that replicas can run its trees. A tree with more work than a limit becomes several: each has some
/// leaves, most of which follow each other, with the paths to them. A path that several have is at home in the first,
/// and copied into the others.
///
/// Source    contiguous runs of leaves in depth-first order, as in AReaL's balance by depth-first search; where to cut,
///           and what changes hands then, is derived
/// Law       uncut() of what it gives is the batch
/// Units     seconds, of the busiest stage
class forest_cuts {
 public:
  /// Shapes    batch: all sequences, by id; order: those that stay in trees, depth-first, in any order of siblings;
  ///           work: of each, by id
  /// Requires  the parent of each in the order is there, too. All others are cut off, each with its whole path, so that
  ///           replicas may share them
  /// Complexity O(sequences)
  forest_cuts(std::span<const sequence> batch, std::span<const sequence> order, std::span<const double> work)
      : batch_(batch.begin(), batch.end()),
        order_(order.begin(), order.end()),
        parents_(order.size(), none),
        ends_(order.size()),
        path_(order.size()) {
    std::vector<std::uint32_t> place(batch.size());  // by id
    stays_.resize(batch.size());
    for (std::uint32_t at = 0; at < order.size(); ++at) {
      place[order[at].id.value] = at;
      stays_[order[at].id.value] = true;
      if (!order[at].is_root()) parents_[at] = place[order[at].parent.value];
      path_[at] = work[order[at].id.value] + (parents_[at] == none ? 0 : path_[parents_[at]]);
    }
    for (auto at = static_cast<std::uint32_t>(order.size()); at-- > 0;) {
      ends_[at] = std::max(ends_[at], at + 1);
      if (parents_[at] != none) ends_[parents_[at]] = std::max(ends_[parents_[at]], ends_[at]);
    }
    for (std::uint32_t at = 0; at < order.size(); ++at) {
      first_leaf_.push_back(leaves_.size());
      if (ends_[at] > at + 1) continue;
      std::uint32_t common = at;  // where its path leaves that of the leaf before
      while (common != none &&
             (leaves_.empty() || common > leaves_.back().place || ends_[common] <= leaves_.back().place))
        common = parents_[common];
      if (common == none) trees_.push_back(leaves_.size());
      const double more = path_[at] - (common == none ? 0 : path_[common]);
      leaves_.push_back({at, (leaves_.empty() ? 0 : leaves_.back().sum) + more});
    }
    first_leaf_.push_back(leaves_.size());
    trees_.push_back(leaves_.size());
  }

  /// Every tree of more work than this becomes as many as it has that much: runs of leaves, the largest as small as can
  /// be, of which the largest then gives leaves to the smallest, or swaps one with it, while that makes it smaller.
  [[nodiscard]] forest_cut by_work(double limit) const {
    return cut([&](leaf_run tree) {
      const double parts = limit > 0 ? std::ceil(work_of(tree) / limit * (1 - 1e-9)) : 1;
      std::vector<leaf_list> pieces;
      for (const leaf_run& r : split(tree, std::max(parts, 1.0))) pieces.push_back(list_of(r));
      if (pieces.size() > 1) leaf_exchange(*this, pieces).run();
      return pieces;
    });
  }
  /// Every tree of more work than this is cut at its highest forks, where copies are short: children that follow each
  /// other become a tree while they have no more work than that together, with the path to them.
  [[nodiscard]] forest_cut by_subtrees(double limit) const {
    return cut([&](leaf_run tree) {
      std::uint32_t root = leaves_[tree.first].place;
      while (parents_[root] != none) root = parents_[root];
      std::vector<leaf_list> pieces;
      split_at_forks(root, limit, pieces);
      return pieces;
    });
  }
  /// Each tree becomes runs of as many leaves as have no more work than this together, with their paths; a leaf whose
  /// path has more is alone.
  [[nodiscard]] forest_cut by_size(double limit) const {
    return cut([&](leaf_run tree) {
      std::vector<leaf_list> pieces;
      for (const leaf_run& r : filled(tree, limit, std::numeric_limits<std::size_t>::max()))
        pieces.push_back(list_of(r));
      return pieces;
    });
  }
  /// Each leaf has its whole path: samples share nothing. What is above several leaves is at home with the lightest.
  [[nodiscard]] forest_cut flat() const {
    return cut([&](leaf_run tree) {
      std::vector<leaf_list> pieces;
      for (std::size_t at = tree.first; at < tree.second; ++at) pieces.push_back({at});
      std::stable_sort(pieces.begin(), pieces.end(), [&](const leaf_list& a, const leaf_list& b) {
        return path_[leaves_[a.front()].place] < path_[leaves_[b.front()].place];
      });
      return pieces;
    });
  }
  /// Calls take(forest_cut) with those worth trying for replicas of so much work each: of trees of more than this, a
  /// half, a quarter and an eighth of it, by work and by subtrees.
  template <class Take>
  void each_for(double work, const Take& take) const {
    for (const double share : {1.0, 0.5, 0.25, 0.125}) {
      take(by_work(share * work));
      take(by_subtrees(share * work));
    }
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  struct leaf {
    std::uint32_t place{};
    double sum{};  // of what each path up to it has behind that of the leaf before
  };
  using leaf_run = std::pair<std::size_t, std::size_t>;  // [first, second) of leaves_
  using leaf_list = std::vector<std::size_t>;            // ascending

  [[nodiscard]] static leaf_list list_of(leaf_run r) {
    leaf_list all = slimpack::detail::indices<std::size_t>(r.second - r.first);
    for (std::size_t& leaf : all) leaf += r.first;
    return all;
  }

  /// Lets pieces of a tree exchange leaves.
  /// Source    the usual neighbourhood of moves and swaps, between the largest and the smallest
  class leaf_exchange {
   public:
    leaf_exchange(const forest_cuts& of, std::vector<leaf_list>& pieces)
        : of_(of), pieces_(pieces), work_(pieces.size()), large_(of.order_.size()), small_(of.order_.size()) {
      for (std::size_t k = 0; k < pieces.size(); ++k) {
        for (const std::size_t leaf : pieces[k]) add(k, large_, leaf);
        clear(large_, k);
      }
    }

    /// Complexity O(changes * pairs of leaves * depth), few hundred changes; of many leaves it tries no swaps
    void run() {
      for (std::size_t changes = 0; changes < most_changes && change(); ++changes) {
      }
      for (leaf_list& piece : pieces_) std::sort(piece.begin(), piece.end());
      std::erase_if(pieces_, [](const leaf_list& piece) { return piece.empty(); });
    }

   private:
    static constexpr std::size_t most_changes = 500, most_pairs = 20000;
    using leaf_counts = std::vector<std::uint32_t>;  // by place: leaves of a piece that are below it

    void add(std::size_t k, leaf_counts& has, std::size_t leaf) {
      for (std::uint32_t at = of_.leaves_[leaf].place; at != none; at = of_.parents_[at])
        if (has[at]++ == 0) work_[k] += of_.own(at);
    }
    void remove(std::size_t k, leaf_counts& has, std::size_t leaf) {
      for (std::uint32_t at = of_.leaves_[leaf].place; at != none; at = of_.parents_[at])
        if (--has[at] == 0) work_[k] -= of_.own(at);
    }
    [[nodiscard]] double with(std::size_t k, leaf_counts& has, std::size_t leaf) {
      add(k, has, leaf);
      const double work = work_[k];
      remove(k, has, leaf);
      return work;
    }
    void count(leaf_counts& has, std::size_t k) const {
      for (const std::size_t leaf : pieces_[k])
        for (std::uint32_t at = of_.leaves_[leaf].place; at != none; at = of_.parents_[at]) ++has[at];
    }
    void clear(leaf_counts& has, std::size_t k) const {
      for (const std::size_t leaf : pieces_[k])
        for (std::uint32_t at = of_.leaves_[leaf].place; at != none; at = of_.parents_[at]) has[at] = 0;
    }

    /// Whether the largest became smaller, and the smallest not as large.
    bool change() {
      const auto large = static_cast<std::size_t>(std::max_element(work_.begin(), work_.end()) - work_.begin());
      const auto small = static_cast<std::size_t>(std::min_element(work_.begin(), work_.end()) - work_.begin());
      if (large == small) return false;
      count(large_, large), count(small_, small);
      const bool changed = change(large, small);
      clear(large_, large), clear(small_, small);
      return changed;
    }
    bool change(std::size_t large, std::size_t small) {
      double best = work_[large] * (1 - 1e-6);
      std::size_t give = 0, take = 0;
      bool found = false;
      const bool swaps = pieces_[large].size() * pieces_[small].size() <= most_pairs;
      for (std::size_t g = 0; g < pieces_[large].size() && pieces_[large].size() > 1; ++g) {
        const std::size_t given = pieces_[large][g];
        remove(large, large_, given), add(small, small_, given);
        if (const double most = std::max(work_[large], work_[small]); most < best)
          best = most, give = g, take = pieces_[small].size(), found = true;
        for (std::size_t t = 0; swaps && work_[large] < best && t < pieces_[small].size(); ++t) {
          const std::size_t taken = pieces_[small][t];
          remove(small, small_, taken);
          if (work_[small] < best)
            if (const double most = std::max(with(large, large_, taken), work_[small]); most < best)
              best = most, give = g, take = t, found = true;
          add(small, small_, taken);
        }
        remove(small, small_, given), add(large, large_, given);
      }
      if (!found) return false;
      const std::size_t given = pieces_[large][give];
      remove(large, large_, given), add(small, small_, given);
      pieces_[large].erase(pieces_[large].begin() + static_cast<std::ptrdiff_t>(give));
      if (take < pieces_[small].size()) {
        const std::size_t taken = pieces_[small][take];
        remove(small, small_, taken), add(large, large_, taken);
        pieces_[small].erase(pieces_[small].begin() + static_cast<std::ptrdiff_t>(take));
        pieces_[large].push_back(taken);
      }
      pieces_[small].push_back(given);
      return true;
    }

    const forest_cuts& of_;
    std::vector<leaf_list>& pieces_;
    std::vector<double> work_;   // of each
    leaf_counts large_, small_;  // of the largest and the smallest, while they change
  };
  friend leaf_exchange;

  /// Work of one sequence.
  [[nodiscard]] double own(std::uint32_t at) const {
    return path_[at] - (parents_[at] == none ? 0 : path_[parents_[at]]);
  }

  /// Work of the paths to some leaves, each sequence once.
  [[nodiscard]] double work_of(leaf_run of) const {
    return path_[leaves_[of.first].place] + leaves_[of.second - 1].sum - leaves_[of.first].sum;
  }

  /// Cuts leaves in so many runs, or fewer: each has as many leaves as have no more work than some limit together, and
  /// that is the least with which the runs are enough.            Complexity  O(parts log(leaves)), some 50 times
  [[nodiscard]] std::vector<leaf_run> split(leaf_run of, double parts) const {
    double low = work_of(of) / parts, high = work_of(of);
    std::vector<leaf_run> tried, found{of};
    for (int halvings = 50; halvings > 0 && high > low * (1 + 1e-9); --halvings) {
      const double limit = low + (high - low) / 2;
      tried = filled(of, limit, static_cast<std::size_t>(parts));
      const bool enough = static_cast<double>(tried.size()) <= parts && largest(tried) <= limit;
      (enough ? high : low) = limit;
      if (enough) found.swap(tried);
    }
    return found;
  }
  /// Runs of as many leaves as have no more work than a limit together, one at least; one run more than `most` ends it.
  [[nodiscard]] std::vector<leaf_run> filled(leaf_run of, double limit, std::size_t most) const {
    std::vector<leaf_run> runs;
    for (std::size_t at = of.first; at < of.second && runs.size() <= most;) {
      std::size_t least = at + 1, last = of.second;  // the run ends from here up to there
      while (least < last) {
        const std::size_t end = least + (last - least + 1) / 2;
        if (work_of({at, end}) <= limit)
          least = end;
        else
          last = end - 1;
      }
      runs.push_back({at, least});
      at = least;
    }
    return runs;
  }
  [[nodiscard]] double largest(std::span<const leaf_run> runs) const {
    double most = 0;
    for (const leaf_run& r : runs) most = std::max(most, work_of(r));
    return most;
  }

  /// The leaves of a subtree.
  [[nodiscard]] leaf_run leaves_of(std::uint32_t at) const { return {first_leaf_[at], first_leaf_[ends_[at]]}; }

  /// Cuts a subtree.            Complexity  O(sequences)
  void split_at_forks(std::uint32_t root, double limit, std::vector<leaf_list>& pieces) const {
    if (work_of(leaves_of(root)) <= limit || ends_[root] == root + 1) return pieces.push_back(list_of(leaves_of(root)));
    leaf_run open{first_leaf_[root], first_leaf_[root]};
    const auto close = [&] {
      if (open.first < open.second) pieces.push_back(list_of(open));
      open.first = open.second;
    };
    for (std::uint32_t child = root + 1; child < ends_[root]; child = ends_[child]) {
      const leaf_run own = leaves_of(child);
      if (work_of(own) > limit) {
        close();
        split_at_forks(child, limit, pieces);
        open = {own.second, own.second};
      } else {
        if (open.first < open.second && work_of({open.first, own.second}) > limit) close();
        open.second = own.second;
      }
    }
    close();
  }

  template <class Split>
  [[nodiscard]] forest_cut cut(const Split& split_tree) const {
    forest_cut made;
    for (const sequence& s : batch_) {
      made.lengths.push_back(s.end()), made.parents.push_back(no_parent);
      if (!s.is_root() && !stays_[s.id.value]) made.copies.push_back({s.id, s.parent, s.begin});
    }
    std::vector<bool> has_home(order_.size());
    for (std::size_t t = 0; t + 1 < trees_.size(); ++t)
      for (const leaf_list& piece : split_tree({trees_[t], trees_[t + 1]})) add(piece, has_home, made);
    std::sort(made.copies.begin(), made.copies.end(),
              [](const path_copy& a, const path_copy& b) { return a.sequence < b.sequence; });
    return made;
  }

  /// Adds the paths to some leaves.
  void add(const leaf_list& piece, std::vector<bool>& has_home, forest_cut& to) const {
    struct member {
      std::uint32_t place{};
      std::size_t parent{};  // index of it here, its own of a root
      std::uint32_t children{};
      bool is_home{};
      sequence_id id{};  // in the cut forest; of a copy that is joined to its child, what that goes on from
      tokens begin{};    // with what is joined to it
    };
    std::vector<member> members;      // parents before children
    std::vector<std::size_t> before;  // path of the leaf before
    std::vector<std::uint32_t> path;
    for (const std::size_t l : piece) {
      path.clear();
      for (std::uint32_t at = leaves_[l].place; at != none; at = parents_[at]) path.push_back(at);
      std::reverse(path.begin(), path.end());
      std::size_t depth = 0;
      while (depth < std::min(path.size(), before.size()) && path[depth] == members[before[depth]].place) ++depth;
      before.resize(depth);
      for (; depth < path.size(); ++depth) {
        const std::size_t parent = depth == 0 ? members.size() : before[depth - 1];
        if (depth > 0) ++members[parent].children;
        before.push_back(members.size());
        members.push_back({path[depth], parent, 0, !has_home[path[depth]]});
        has_home[path[depth]] = true;
      }
    }
    for (std::size_t k = 0; k < members.size(); ++k) {
      member& m = members[k];
      const member& parent = members[m.parent];
      const sequence& s = order_[m.place];
      const bool joins_parent = m.parent != k && !parent.is_home && parent.children == 1;
      m.begin = joins_parent ? parent.begin : s.begin;
      m.id = m.parent == k ? no_parent : parent.id;
      if (!m.is_home && m.children == 1) continue;
      const sequence_id from =
          std::exchange(m.id, m.is_home ? s.id : sequence_id{static_cast<std::uint32_t>(to.lengths.size())});
      if (!m.is_home) to.lengths.emplace_back(), to.parents.emplace_back();
      to.lengths[m.id.value] = s.end() - m.begin;
      to.parents[m.id.value] = from;
      if (!m.is_home)
        to.copies.push_back({m.id, s.id, s.end()});
      else if (m.begin < s.begin)
        to.copies.push_back({m.id, s.parent, s.begin});
    }
  }

  std::vector<sequence> batch_;
  std::vector<sequence> order_;
  std::vector<bool> stays_;              // by id
  std::vector<std::uint32_t> parents_;   // by place in the order
  std::vector<std::uint32_t> ends_;      // of each subtree: one past its last place
  std::vector<double> path_;             // work of each path
  std::vector<std::size_t> first_leaf_;  // of those from each place on, and behind the last
  std::vector<leaf> leaves_;
  std::vector<std::size_t> trees_;  // the first leaf of each, and one past the last
};

}  // namespace slimpack::divide

#endif
