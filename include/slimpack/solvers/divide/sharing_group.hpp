#ifndef SLIMPACK_SOLVERS_DIVIDE_SHARING_GROUP_HPP
#define SLIMPACK_SOLVERS_DIVIDE_SHARING_GROUP_HPP

#include <slimpack/core/detail/indices.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/solvers/divide/balance.hpp>
#include <slimpack/solvers/divide/sharer_slices.hpp>
#include <slimpack/solvers/search_options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Replicas that share sequences, seen as one: a batch of stand-ins that phase 2 plans once, and what each stand-in's
/// slices are on each replica (sharer).
///
/// A sequence shared by m sharers stands as one of near L / m tokens; a slice of it is a row, m times as long, of which
/// each sharer runs its slices. The sharers' other sequences stand in tuples, one of near equal length from each
/// sharer, as the longest of them, and all are cut at the same fractions. A tree of samples that share beginnings is on
/// one sharer, and stands as itself. All trees hang from one stand-in of no sharer, so that nothing shared comes
/// between them: sharers run theirs at the same time. unfold.hpp has what packs of stand-ins are on each sharer.
/// Source    derived
class sharing_group {
 public:
  /// Requires  sequences of at least `count` quanta
  sharing_group(std::int64_t count, tokens quantum, std::span<const sequence> shared)
      : count_(count), quantum_(quantum), shared_(shared.begin(), shared.end()) {
    std::int64_t uneven = 0;
    for (const sequence& s : shared) {
      const std::int64_t quanta = (s.length.value + quantum.value - 1) / quantum.value;
      first_.push_back(uneven % count);
      uneven += quanta % count;
      add({quantum.value * (quanta / count)});
    }
    trees_ = stand_ins_.size();
  }

  /// Adds the sharers' own sequences, one of each sharer, of no tokens where it has none.
  /// Requires  no tree is added yet
  void add(std::span<const sequence> tuple) {
    tokens longest{};
    for (const sequence& s : tuple) longest = std::max(longest, s.length);
    members_.insert(members_.end(), tuple.begin(), tuple.end());
    add(longest);
    trees_ = stand_ins_.size();
  }
  /// Adds a sharer's tree.
  /// Shapes    tree: parents before children
  void add_tree(std::span<const sequence> tree, std::size_t sharer) {
    const auto add_one = [&](const sequence& s, tokens length, const sequence& parent) {
      members_.resize(members_.size() + count());
      members_[members_.size() - count() + sharer] = s;
      add(length, parent.end(), parent.id);
    };
    if (trees_ == stand_ins_.size()) add_one({}, quantum_, {no_parent, {}});
    std::vector<std::pair<sequence_id, std::size_t>> stand_in_of;
    for (const sequence& s : tree) stand_in_of.emplace_back(s.id, stand_ins_.size() + stand_in_of.size());
    std::sort(stand_in_of.begin(), stand_in_of.end());
    for (const sequence& s : tree) {
      const auto parent = std::lower_bound(stand_in_of.begin(), stand_in_of.end(), std::pair{s.parent, std::size_t{}});
      add_one(s, s.length, stand_ins_[s.is_root() ? trees_ : parent->second]);
    }
  }

  [[nodiscard]] std::size_t count() const noexcept { return static_cast<std::size_t>(count_); }
  [[nodiscard]] std::span<const sequence> stand_ins() const noexcept { return stand_ins_; }
  [[nodiscard]] std::span<const sequence> shared() const noexcept { return shared_; }
  [[nodiscard]] bool is_shared(const slice& s) const noexcept { return s.sequence.value < shared_.size(); }
  [[nodiscard]] bool has_trees() const noexcept { return trees_ < stand_ins_.size(); }
  [[nodiscard]] tokens quantum() const noexcept { return quantum_; }

  /// The row that a slice of a shared sequence's stand-in means. Quanta that sharers cannot have alike are in the
  /// first, where causal attention makes them cheapest.
  [[nodiscard]] slice row(const slice& s) const noexcept {
    const sequence& whole = shared_[s.sequence.value];
    const tokens length = stand_ins_[s.sequence.value].length;
    const std::int64_t quanta = (whole.length.value + quantum_.value - 1) / quantum_.value;
    const tokens uneven = quantum_ * (quanta % count_);
    const tokens begin = s.begin > tokens{0} ? uneven + s.begin * count_ : tokens{0};
    const tokens end = s.end() == length ? whole.length : uneven + s.end() * count_;
    return {whole.id, begin, end - begin};
  }

  /// What a sharer runs of a row, or of a run of tokens of one. The first in turn is the sharer after the last that had
  /// a quantum more of the sequence before, so that all have as many.
  [[nodiscard]] sharer_slices slices(const slice& s, std::size_t sharer) const noexcept {
    const std::int64_t turn = static_cast<std::int64_t>(sharer) + count_ - first_[s.sequence.value];
    return slices_of_sharer(row(s), turn % count_, count_, quantum_);
  }

  /// What a sharer runs of a slice of a tuple: the same fraction of its own sequence, of 0 tokens where it has none.
  [[nodiscard]] slice fraction(const slice& s, std::size_t sharer) const noexcept {
    const sequence& own = members_[(s.sequence.value - shared_.size()) * count() + sharer];
    const sequence& all = stand_ins_[s.sequence.value];
    const auto cut = [&](tokens at) {
      if (at == all.end()) return own.length;
      return tokens{(at - all.begin).value * own.length.value / all.length.value / quantum_.value * quantum_.value};
    };
    const tokens begin = cut(s.begin);
    return {own.id, own.begin + begin, cut(s.end()) - begin};
  }

  /// The mean over the sharers of what a slice of a stand-in is, as value(slice) says. Of a row it is the first
  /// sharer's part, since all are nearly alike; of a tree its sharer's.
  template <class Value>
  [[nodiscard]] auto mean(const slice& s, const Value& value) const {
    decltype(value(s)) sum{};
    const auto add = [&](const slice& own) {
      if (own.length > tokens{0}) sum += value(own);
    };
    if (is_shared(s)) {
      for (const slice& cut : slices(s, 0)) add(cut);
      return sum;
    }
    for (std::size_t sharer = 0; sharer < count(); ++sharer) add(fraction(s, sharer));
    return s.sequence.value < trees_ ? sum * (1.0 / static_cast<double>(count_)) : sum;
  }

  /// By how much a slice of what sharers have of their own changes what is held, on the sharer that holds most.
  /// Source    derived: of a sequence, its beginning is held, to where forward has come or from where backward has; the
  ///           sharer with most of it holds most. Summed up over sequences it is at least what any sharer holds
  [[nodiscard]] tokens most_held(const slice& s) const noexcept {
    const auto most = [&](tokens end) {
      const tokens begin = stand_ins_[s.sequence.value].begin;
      tokens held{};
      for (std::size_t sharer = 0; sharer < count() && end > begin; ++sharer)
        held = std::max(held, fraction({s.sequence, begin, end - begin}, sharer).length);
      return held;
    };
    return most(s.end()) - most(s.begin);
  }

  /// Sums of tokens(slice) over the slices of what sharers have of their own, in the packs before each.
  /// Shapes    packs + 1 of each pass
  template <class Tokens>
  [[nodiscard]] by_pass<std::vector<std::int64_t>> own_tokens(const partition& packs, const Tokens& of) const {
    by_pass<std::vector<std::int64_t>> before;
    for (const pass p : both_passes) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < packs.of(p).size(); ++i) {
        before[p].push_back(sum);
        for (const slice& s : packs.of(p)[i])
          if (!is_shared(s)) sum += of(s).value;
      }
      before[p].push_back(sum);
    }
    return before;
  }

  /// A sharer's own sequences, and all shared ones.
  [[nodiscard]] std::vector<sequence_id> sequences(std::size_t sharer) const {
    std::vector<sequence_id> ids;
    for (const sequence& s : shared_) ids.push_back(s.id);
    for (std::size_t i = sharer; i < members_.size(); i += count())
      if (members_[i].length > tokens{0}) ids.push_back(members_[i].id);
    return ids;
  }

 private:
  void add(tokens length, tokens begin = {}, sequence_id parent = no_parent) {
    stand_ins_.push_back({{static_cast<std::uint32_t>(stand_ins_.size())}, length, begin, parent});
  }

  std::int64_t count_;
  tokens quantum_;
  std::vector<sequence> shared_;
  std::vector<std::int64_t> first_;  // sharer of each
  std::vector<sequence> members_;    // [tuple * count + sharer]; of length 0 where a sharer has none
  std::vector<sequence> stand_ins_;  // shared ones first, trees last
  std::size_t trees_{};              // stand-ins before those of trees
};

/// Deals sequences, most work first, one to each sharer in turn, the heaviest to the sharer with the least so far, and
/// levels the sharers by moves and swaps. Tuples have one of each sharer, by falling work; where it has no more, one of
/// no tokens.
/// Shapes    work: one per sequence; load: what each sharer does besides
/// Complexity O(n log n + sharers n)
[[nodiscard]] inline std::vector<std::vector<sequence>> dealt_in_tuples(
    std::span<const sequence> sequences, std::span<const double> work, std::vector<double> load,
    const solvers::search_options& options = solvers::default_search_options) {
  const std::size_t sharers = load.size();
  auto order = indices<std::uint32_t>(sequences.size());
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return work[a] > work[b]; });
  auto lightest = indices<std::size_t>(sharers);
  std::vector<std::vector<std::uint32_t>> of_sharer(sharers);
  for (std::size_t at = 0; at < order.size(); at += sharers) {
    std::sort(lightest.begin(), lightest.end(),
              [&](std::size_t a, std::size_t b) { return load[a] != load[b] ? load[a] < load[b] : a < b; });
    for (std::size_t k = 0; k < sharers && at + k < order.size(); ++k) {
      of_sharer[lightest[k]].push_back(order[at + k]);
      load[lightest[k]] += work[order[at + k]];
    }
  }
  constexpr std::size_t rounds = 1000;  // as balance has; they end long before, with nothing to gain
  rebalance(work, of_sharer, load, rounds, options.tuning.level_enough * load.front());
  std::vector<std::vector<sequence>> tuples;
  for (std::size_t sharer = 0; sharer < sharers; ++sharer) {
    if (tuples.size() < of_sharer[sharer].size())
      tuples.resize(of_sharer[sharer].size(), std::vector<sequence>(sharers));
    for (std::size_t t = 0; t < of_sharer[sharer].size(); ++t) tuples[t][sharer] = sequences[of_sharer[sharer][t]];
  }
  return tuples;
}

}  // namespace slimpack::detail

#endif
