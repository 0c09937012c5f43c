#ifndef SLIMPACK_TESTING_DETAIL_FOREST_CASE_HPP
#define SLIMPACK_TESTING_DETAIL_FOREST_CASE_HPP

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/testing/detail/compute_steps.hpp>
#include <slimpack/testing/generator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace slimpack::testing::detail {

/// Samples that share beginnings: as a forest, and flat, each as a sequence of its own.
struct forest_case {
  forest shared;
  std::vector<std::vector<document>> nodes;  ///< by sequence of the forest
  forest flat;                               ///< without parents
  std::vector<std::vector<document>> paths;  ///< by sequence of the flat batch
};

/// Draws one. Samples end with leaves and anywhere, each with targets of its own and a weight, which may be negative.
class forest_case_maker {
 public:
  forest_case_maker(const compute_options& o, generator& random) : o_(o), random_(random) {}

  [[nodiscard]] forest_case operator()() {
    while (sequences_.empty() || (sequences_.size() < 8 && random_.once_in(2))) grow(no_parent);
    std::vector<bool> has_children(sequences_.size());
    for (const sequence& s : sequences_)
      if (!s.is_root()) has_children[s.parent.value] = true;
    for (const sequence& s : sequences_) {
      if (!has_children[s.id.value]) add_sample(s, s.end());
      if (random_.once_in(3)) add_sample(s, s.begin + tokens{random_.between(1, s.length.value)});
    }
    for (const auto& [end, count] : ends_) made_.shared.samples.push_back({end.first, end.second, count});
    for (const auto& [target, edge] : edges_)
      made_.shared.targets.push_back({target.first, {target.second}, {1}, edge.first, edge.second});
    return std::move(made_);
  }

 private:
  void grow(sequence_id parent) {
    const sequence_id id{static_cast<std::uint32_t>(sequences_.size())};
    const tokens begin = parent == no_parent ? tokens{} : sequences_[parent.value].end();
    // One token more than the half: there is room for a child, and an edge to its first token.
    const tokens most{std::max<std::int64_t>(2, (o_.longest - begin).value / 2 + 1)};
    const tokens length =
        std::max(random_.length(most), tokens{parent == no_parent ? 2 : 1});  // some token is a target
    sequences_.push_back({id, length, begin, parent});
    made_.shared.lengths.push_back(length);
    made_.shared.parents.push_back(parent);
    made_.nodes.push_back({{length, static_cast<std::uint64_t>(random_.between(0, 1 << 30))}});
    for (std::int64_t children = random_.between(0, 3); children > 0; --children)
      if (sequences_.size() < 16 && (o_.longest - begin - length).value >= 2) grow(id);
  }

  void add_sample(const sequence& last, tokens at) {
    const sequence_id id{static_cast<std::uint32_t>(made_.paths.size())};
    const double weight = random_.once_in(4) ? -0.25 * random_.ratio() : 0.5 + random_.ratio();
    std::vector<sequence> path;
    for (sequence_id s = last.id; s != no_parent; s = sequences_[s.value].parent)
      path.insert(path.begin(), sequences_[s.value]);
    std::vector<document>& whole = made_.paths.emplace_back();
    for (const sequence& s : path) {
      const tokens end = std::min(s.end(), at);
      whole.push_back({end - s.begin, made_.nodes[s.id.value].front().key});
      for (tokens t = s.begin; t < end; ++t.value) {
        if (t == tokens{} || (t + tokens{1} < at && random_.once_in(3))) continue;
        made_.flat.targets.push_back({id, t, {1}, 1, weight});
        auto& [count, sum] = edges_[{s.id, t.value}];
        ++count, sum += weight;
      }
    }
    made_.flat.lengths.push_back(at);
    ++ends_[{last.id, at}];
  }

  const compute_options& o_;
  generator& random_;
  std::vector<sequence> sequences_;
  std::map<std::pair<sequence_id, std::int64_t>, std::pair<std::uint32_t, double>> edges_;
  std::map<std::pair<sequence_id, tokens>, std::uint32_t> ends_;
  forest_case made_;
};

/// Packs of whole sequences, each alone; of a batch without parents.
[[nodiscard]] inline partition uncut_packs(const batch_view& batch) {
  partition packs;
  for (const sequence& s : batch.sequences())
    for (const pass p : both_passes) packs.of(p).append(s.whole()), packs.of(p).close();
  return packs;
}

/// Random cuts and packs, of sequences in depth-first order, which a parent is the first of forward and the last of
/// backward.
[[nodiscard]] inline partition forked_packs(const batch_view& batch, tokens quantum, generator& random) {
  partition packs;
  for (const pass p : both_passes) {
    std::vector<sequence> order = batch.sequences();
    if (p == pass::backward) std::reverse(order.begin(), order.end());
    micropacks& side = packs.of(p);
    for (const sequence& s : order) {
      std::vector<slice> slices;
      for (tokens at = s.begin; at < s.end();) {
        const tokens end = std::min(s.end(), at + quantum * random.between(1, 4));
        slices.push_back({s.id, at, end - at});
        at = end;
      }
      if (p == pass::backward) std::reverse(slices.begin(), slices.end());
      for (const slice& one : slices) {
        side.append(one);
        if (random.once_in(3)) side.close();
      }
    }
    side.close();
  }
  return packs;
}

}  // namespace slimpack::testing::detail

#endif
