#ifndef SLIMPACK_TESTS_EXECUTORS_FORESTS_HPP
#define SLIMPACK_TESTS_EXECUTORS_FORESTS_HPP

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/testing/generator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace slimpack::tests {

/// A sample as its owner has it: the path down to a token, the tokens of it that it trains on, and what their loss is
/// multiplied by.
struct one_sample {
  sequence_id sequence;
  tokens at;                    ///< of the path, one past its last
  std::vector<bool> is_target;  ///< by token of the path
  double weight{1};
};

/// Samples that share beginnings, and the forest that says the same.
struct random_forest {
  std::vector<sequence> sequences;
  std::vector<one_sample> samples;
  forest batch;

  /// The sequence of each token of a sample.
  [[nodiscard]] std::vector<sequence_id> path_of(const one_sample& s) const {
    std::vector<sequence_id> path(static_cast<std::size_t>(s.at.value));
    for (sequence_id at = s.sequence; at != no_parent; at = sequences[at.value].parent)
      for (std::int64_t t = sequences[at.value].begin.value; t < std::min(sequences[at.value].end(), s.at).value; ++t)
        path[static_cast<std::size_t>(t)] = at;
    return path;
  }
  /// Targets of all samples, each once a sample.
  [[nodiscard]] double count() const {
    std::int64_t sum = 0;
    for (const one_sample& s : samples) sum += std::count(s.is_target.begin(), s.is_target.end(), true);
    return static_cast<double>(sum);
  }
};

/// Up to 6 roots, 8 sequences on a path and 16 children; samples end anywhere, and some are equal. Weights are random,
/// and some negative.
/// longest: of a sequence; most: sequences, or a few more
class forest_maker {
 public:
  forest_maker(testing::generator& random, tokens longest, std::size_t most)
      : random_(random), longest_(longest), most_(most) {}

  [[nodiscard]] random_forest make() {
    for (std::int64_t roots = random_.between(1, 6); roots > 0; --roots) grow(no_parent, 1);
    add_samples();
    add_targets();
    return std::move(made_);
  }

 private:
  void grow(sequence_id parent, int depth) {
    const sequence_id id{static_cast<std::uint32_t>(made_.sequences.size())};
    made_.batch.lengths.push_back({random_.between(1, longest_.value)});
    made_.batch.parents.push_back(parent);
    const tokens begin = parent == no_parent ? tokens{} : made_.sequences[parent.value].end();
    made_.sequences.push_back({id, made_.batch.lengths.back(), begin, parent});
    std::int64_t children = depth == 8 ? 0 : random_.once_in(12) ? 16 : random_.between(0, 3);
    for (; children > 0 && made_.sequences.size() < most_; --children) grow(id, depth + 1);
  }

  /// One at the end of each leaf at least, and others anywhere.
  void add_samples() {
    std::vector<bool> has_children(made_.sequences.size());
    for (const sequence& s : made_.sequences)
      if (!s.is_root()) has_children[s.parent.value] = true;
    for (const sequence& s : made_.sequences) {
      if (!has_children[s.id.value]) add_sample(s.id, s.end());
      while (random_.once_in(3)) add_sample(s.id, s.begin + tokens{random_.between(1, s.length.value)});
    }
    random_.shuffle(made_.samples);
    std::map<std::pair<sequence_id, tokens>, std::uint32_t> ends;
    for (const one_sample& s : made_.samples) ++ends[{s.sequence, s.at}];
    for (const auto& [end, count] : ends) made_.batch.samples.push_back({end.first, end.second, count});
  }
  void add_sample(sequence_id s, tokens at) {
    one_sample one{s, at, std::vector<bool>(static_cast<std::size_t>(at.value)), 3 * random_.ratio() - 1};
    for (std::int64_t end = 1; end < at.value;) {  // runs of targets, from the second token on
      const std::int64_t begin = random_.between(end, at.value - 1);
      end = random_.between(begin, at.value - 1) + 1;
      std::fill(one.is_target.begin() + begin, one.is_target.begin() + end, true);
    }
    made_.samples.push_back(one);
    if (random_.once_in(4)) made_.samples.push_back(one), made_.samples.back().weight = 3 * random_.ratio() - 1;
  }

  void add_targets() {
    std::map<std::pair<sequence_id, std::int64_t>, std::pair<std::uint32_t, double>> edges;
    for (const one_sample& s : made_.samples) {
      const std::vector<sequence_id> path = made_.path_of(s);
      for (std::size_t t = 0; t < path.size(); ++t) {
        if (!s.is_target[t]) continue;
        auto& [count, weight] = edges[{path[t], static_cast<std::int64_t>(t)}];
        ++count, weight += s.weight;
      }
    }
    for (const auto& [target, edge] : edges) {
      std::vector<target_run>& runs = made_.batch.targets;
      if (!runs.empty() && runs.back().sequence == target.first && runs.back().count == edge.first &&
          runs.back().weight == edge.second && runs.back().begin.value + runs.back().length.value == target.second)
        ++runs.back().length.value;
      else
        runs.push_back({target.first, {target.second}, {1}, edge.first, edge.second});
    }
  }

  testing::generator& random_;
  tokens longest_;
  std::size_t most_;
  random_forest made_;
};

}  // namespace slimpack::tests

#endif
