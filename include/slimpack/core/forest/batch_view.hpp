#ifndef SLIMPACK_CORE_FOREST_BATCH_VIEW_HPP
#define SLIMPACK_CORE_FOREST_BATCH_VIEW_HPP

#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack {

/// A batch as planners take it: a list of lengths, or a forest of samples that share beginnings.
///
///   plan_batch(lengths);                    // each sequence is a sample
///   plan_batch({lengths, parents});         // sequence i goes on where sequence parents[i] ends
///   plan_batch(samples_of_a_forest);        // forest.hpp: also says where samples end, and what is trained on
///
/// Shapes    lengths: tokens of each sequence alone; parents: empty, or one per sequence, no_parent of a root; samples,
///           targets: those of a forest, or empty, and planning asks nothing of them: a plan has them for who runs it
/// Requires  all outlive it
class batch_view {
 public:
  constexpr batch_view() = default;
  template <std::convertible_to<std::span<const tokens>> Lengths>
  constexpr batch_view(const Lengths& lengths, std::span<const sequence_id> parents = {},
                       std::span<const sample_end> samples = {}, std::span<const target_run> targets = {}) noexcept
      : lengths_(lengths), parents_(parents), samples_(samples), targets_(targets) {}
  batch_view(const forest& f) noexcept : batch_view(f.lengths, f.parents, f.samples, f.targets) {}

  [[nodiscard]] constexpr std::size_t size() const noexcept { return lengths_.size(); }
  [[nodiscard]] constexpr bool empty() const noexcept { return lengths_.empty(); }
  [[nodiscard]] constexpr std::span<const tokens> lengths() const noexcept { return lengths_; }
  [[nodiscard]] constexpr std::span<const sequence_id> parents() const noexcept { return parents_; }
  [[nodiscard]] constexpr std::span<const sample_end> samples() const noexcept { return samples_; }
  [[nodiscard]] constexpr std::span<const target_run> targets() const noexcept { return targets_; }

  /// Whether some sequence goes on where another ends.            Complexity  O(sequences)
  [[nodiscard]] bool shares_prefixes() const noexcept {
    for (const sequence_id p : parents_)
      if (p != no_parent) return true;
    return false;
  }

  /// The longest path.            Requires  no fault()            Complexity  O(sequences)
  [[nodiscard]] tokens longest() const {
    tokens most{};
    for (const sequence& s : sequences())
      if (s.end() > most) most = s.end();
    return most;
  }

  /// What is wrong with it, if anything, and where: paths that have no root or are too long, samples and targets that
  /// are not in their sequences or not in ascending order.
  /// Complexity O(sequences)
  [[nodiscard]] std::optional<std::string> fault() const;
  /// Which sequence is not in its place in depth-first order: a parent before its children, and a subtree in one piece.
  /// Requires  no fault()            Complexity  O(sequences)
  [[nodiscard]] std::optional<std::string> disorder() const;

  /// All sequences, by id.            Requires  no fault()            Complexity  O(sequences)
  [[nodiscard]] std::vector<sequence> sequences() const {
    std::vector<sequence> all;
    all.reserve(lengths_.size());
    for (std::uint32_t i = 0; i < lengths_.size(); ++i) all.push_back({{i}, lengths_[i], {}, parent(i)});
    if (!parents_.empty()) find_depths(all);
    return all;
  }

 private:
  [[nodiscard]] constexpr sequence_id parent(std::size_t i) const noexcept {
    return parents_.empty() ? no_parent : parents_[i];
  }
  /// Gives each sequence its begin. False where parents go round.
  static bool find_depths(std::vector<sequence>& all);
  /// What is wrong with samples and targets.            ends: of the sequences' paths
  [[nodiscard]] std::optional<std::string> sample_fault(std::span<const tokens> ends) const;

  std::span<const tokens> lengths_;
  std::span<const sequence_id> parents_;
  std::span<const sample_end> samples_;
  std::span<const target_run> targets_;
};

inline bool batch_view::find_depths(std::vector<sequence>& all) {
  std::vector<bool> known(all.size());
  std::vector<std::uint32_t> path;  // those whose begin is known once their parent's is
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    for (std::uint32_t at = i; !known[at]; at = all[at].parent.value) {
      path.push_back(at);
      if (all[at].is_root()) break;
      if (path.size() > all.size()) return false;
    }
    for (; !path.empty(); path.pop_back()) {
      sequence& s = all[path.back()];
      if (!s.is_root()) s.begin = all[s.parent.value].end();
      known[path.back()] = true;
    }
  }
  return true;
}

inline std::optional<std::string> batch_view::fault() const {
  const auto name = [](std::size_t i) { return "sequence " + std::to_string(i); };
  for (std::size_t i = 0; i < lengths_.size(); ++i)
    if (lengths_[i] < tokens{1} || lengths_[i] > longest_supported)
      return name(i) + " has " + std::to_string(lengths_[i].value) + " tokens; lengths run from 1 to " +
             std::to_string(longest_supported.value);
  if (parents_.empty()) return sample_fault(lengths_);
  if (parents_.size() != lengths_.size())
    return "there are " + std::to_string(parents_.size()) + " parents for " + std::to_string(lengths_.size()) +
           " sequences";
  std::vector<sequence> all;
  for (std::uint32_t i = 0; i < parents_.size(); ++i) {
    if (parents_[i] != no_parent && parents_[i].value >= parents_.size())
      return name(i) + " has the parent " + std::to_string(parents_[i].value) + "; there are " +
             std::to_string(parents_.size()) + " sequences";
    all.push_back({{i}, lengths_[i], {}, parents_[i]});
  }
  if (!find_depths(all)) return "a sequence is its own ancestor: parents end at a root";
  std::vector<tokens> ends;
  for (const sequence& s : all) {
    if (s.end() > longest_supported)
      return name(s.id.value) + " ends at token " + std::to_string(s.end().value) +
             " of its path; paths have at most " + std::to_string(longest_supported.value);
    ends.push_back(s.end());
  }
  return sample_fault(ends);
}

inline std::optional<std::string> batch_view::disorder() const {
  std::vector<std::uint32_t> path;  // of the sequence before
  for (std::uint32_t i = 0; i < parents_.size(); ++i) {
    const sequence_id parent = parents_[i];
    const std::string who = "sequence " + std::to_string(i);
    if (parent != no_parent && parent.value >= i)
      return who + " has the parent " + std::to_string(parent.value) + ": a parent comes before its children";
    while (!path.empty() && path.back() != parent.value) path.pop_back();
    if (path.empty() && parent != no_parent)
      return who + " comes after other children than those of its parent, " + std::to_string(parent.value) +
             ": sequences are in depth-first order, a subtree in one piece";
    path.push_back(i);
  }
  return std::nullopt;
}

inline std::optional<std::string> batch_view::sample_fault(std::span<const tokens> ends) const {
  // What is wrong with entry i of a list, tokens [from, to) of a sequence's path, where the one before has ended at
  // `done` of the sequence `last`.
  const auto misplaced = [&](const char* list, std::size_t i, sequence_id s, tokens from, tokens to, sequence_id last,
                             tokens done) -> std::optional<std::string> {
    const std::string name = std::string(list) + ' ' + std::to_string(i);
    if (s.value >= ends.size()) return name + " is of sequence " + std::to_string(s.value) + ", which is not there";
    const tokens end = ends[s.value];
    if (from < end - lengths_[s.value] || from >= to || to > end)
      return name + " is of tokens [" + std::to_string(from.value) + ", " + std::to_string(to.value) +
             ") of sequence " + std::to_string(s.value) + ", which has [" +
             std::to_string((end - lengths_[s.value]).value) + ", " + std::to_string(end.value) + ")";
    if (i > 0 && (s < last || (s == last && from < done)))
      return name + " comes after one of a later place: samples and targets ascend, and targets do not overlap";
    return std::nullopt;
  };
  constexpr double most_weight = std::numeric_limits<double>::max();
  sequence_id last{};
  tokens done{};
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const sample_end& s = samples_[i];
    if (std::optional<std::string> wrong =
            misplaced("sample", i, s.sequence, s.at - tokens{1}, s.at, std::exchange(last, s.sequence), done))
      return wrong;
    if (s.count == 0) return "sample " + std::to_string(i) + " stands for none: its count is at least 1";
    done = s.at;
  }
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const target_run& t = targets_[i];
    if (t.begin == tokens{})
      return "target " + std::to_string(i) + " has the first token of a root, which nothing predicts";
    if (t.length > longest_supported)
      return "target " + std::to_string(i) + " has " + std::to_string(t.length.value) + " tokens";
    if (std::optional<std::string> wrong =
            misplaced("target", i, t.sequence, t.begin, t.begin + t.length, std::exchange(last, t.sequence), done))
      return wrong;
    if (t.count == 0 || !(t.weight >= -most_weight && t.weight <= most_weight))
      return "target " + std::to_string(i) + " needs a count of at least 1, and a weight that is a finite number";
    done = t.begin + t.length;
  }
  return std::nullopt;
}

}  // namespace slimpack

#endif
