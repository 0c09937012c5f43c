#ifndef SLIMPACK_FORESTS_RENUMBERED_HPP
#define SLIMPACK_FORESTS_RENUMBERED_HPP

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/forests/detail/target_sums.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace slimpack::forests {

/// A forest whose sequences have other numbers than what it was made of.
struct renumbered {
  forest all;
  /// Of each sequence, or node, of the other: which one has its first token. None where that token is in none.
  std::vector<std::optional<sequence_id>> now;
};

/// The forest whose sequences end only where samples part: a sequence with one child, which ends only because a sample
/// does, is one with its child. A cut there would make a slice more and share nothing more.
/// Law       samples and targets stay; so does each path; no sequence of what is made has one child
/// Requires  no fault()            Errors  none            Complexity  O(sequences + samples + targets)
[[nodiscard]] inline renumbered merged_chains(const forest& of) {
  const std::size_t count = of.lengths.size();
  const auto parent_of = [&](std::size_t i) { return of.parents.empty() ? no_parent : of.parents[i]; };
  std::vector<std::uint32_t> children(count);
  for (std::size_t i = 0; i < count; ++i)
    if (parent_of(i) != no_parent) ++children[parent_of(i).value];
  renumbered made;
  made.now.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const sequence_id parent = parent_of(i);
    if (parent != no_parent && children[parent.value] == 1) {
      made.now[i] = made.now[parent.value];
      made.all.lengths[made.now[i]->value] += of.lengths[i];
      continue;
    }
    made.now[i] = sequence_id{static_cast<std::uint32_t>(made.all.lengths.size())};
    made.all.lengths.push_back(of.lengths[i]);
    made.all.parents.push_back(parent == no_parent ? no_parent : *made.now[parent.value]);
  }
  for (const sample_end& s : of.samples) made.all.samples.push_back({*made.now[s.sequence.value], s.at, s.count});
  for (target_run t : of.targets) {
    t.sequence = *made.now[t.sequence.value];
    detail::add_run(made.all.targets, t);
  }
  return made;
}

/// The forest without tokens behind which no target stands: nothing that is trained depends on them. A sample ends
/// where what is left of its path does; one of which nothing is left is in no forest.
/// Law       targets stay, but for numbers of sequences; each path ends with a target, at the latest
/// Requires  no fault()            Errors  none            Complexity  O(sequences + samples log samples + targets)
[[nodiscard]] inline renumbered without_tails(const forest& of) {
  const std::vector<sequence> all = batch_view(of).sequences();
  std::vector<tokens> end(all.size());  // of what is left of each, on the path; its begin where nothing is
  for (const sequence& s : all) end[s.id.value] = s.begin;
  for (const target_run& t : of.targets) end[t.sequence.value] = t.begin + t.length;
  for (std::size_t i = all.size(); i-- > 0;)
    if (const sequence& s = all[i]; end[i] > s.begin && !s.is_root()) end[s.parent.value] = s.begin;
  renumbered made;
  made.now.resize(all.size());
  for (const sequence& s : all) {
    if (end[s.id.value] == s.begin) continue;
    made.now[s.id.value] = sequence_id{static_cast<std::uint32_t>(made.all.lengths.size())};
    made.all.lengths.push_back(end[s.id.value] - s.begin);
    made.all.parents.push_back(s.is_root() ? no_parent : *made.now[s.parent.value]);
  }
  for (const sample_end& s : of.samples) {
    sequence_id on = s.sequence;
    while (on != no_parent && !made.now[on.value]) on = all[on.value].parent;
    if (on != no_parent) made.all.samples.push_back({*made.now[on.value], std::min(s.at, end[on.value]), s.count});
  }
  detail::sort_ends(made.all.samples);
  for (target_run t : of.targets) {
    t.sequence = *made.now[t.sequence.value];
    made.all.targets.push_back(t);
  }
  return made;
}

}  // namespace slimpack::forests

#endif
