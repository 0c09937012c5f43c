#ifndef SLIMPACK_TESTING_GENERATOR_HPP
#define SLIMPACK_TESTING_GENERATOR_HPP

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace slimpack::testing {

/// How hard the laws are tried. Equal options ask equal questions, on every compiler and standard library.
struct options {
  std::uint64_t seed{1};
  int cases{200};          ///< random cases, beside the edge cases that are always tried
  tokens longest{262144};  ///< no sequence is longer
  tokens quantum{128};     ///< cuts fall on its multiples
  bool analytic{true};     ///< cost_model_laws: false leaves out law 4, which measured tables do not obey
  int chunks{1};           ///< schedule_laws: the most virtual stages to try
};

/// Random questions. Only the engine is the standard's, whose values are specified; distributions and shuffle differ
/// between standard libraries, so a seed means the same questions everywhere.
class generator {
 public:
  explicit generator(std::uint64_t seed) : engine_(seed) {}

  /// Uniform in [low, high]; the bias of the remainder is below range / 2^64.
  [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  [[nodiscard]] bool once_in(std::int64_t n) { return between(1, n) == 1; }
  /// Uniform in [0, 1).
  [[nodiscard]] double ratio() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

  /// Long-tailed: each power of two is as likely as the next, up to `longest`.
  [[nodiscard]] tokens length(tokens longest) {
    int powers = 1;
    while ((longest.value >> powers) > 0) ++powers;
    const std::int64_t low = std::int64_t{1} << between(0, powers - 1);
    return {std::min(between(low, 2 * low - 1), longest.value)};
  }

  /// A slice of a random sequence, its cuts on the quantum.
  [[nodiscard]] slice slice_of(const sequence& s, tokens quantum) {
    const std::int64_t cuts = (s.length.value + quantum.value - 1) / quantum.value;
    const std::int64_t first = between(0, cuts - 1);
    const tokens begin{first * quantum.value};
    const tokens end{std::min(between(first + 1, cuts) * quantum.value, s.length.value)};
    return {s.id, s.begin + begin, end - begin};
  }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(i) - 1))]);
  }

 private:
  std::mt19937_64 engine_;
};

/// The lengths where cutting goes wrong first: one token, around the quantum, the longest.
[[nodiscard]] inline std::vector<tokens> edge_lengths(const options& o) {
  std::vector<tokens> edges;
  for (const tokens t : {tokens{1}, o.quantum - tokens{1}, o.quantum, o.quantum + tokens{1}, o.longest})
    if (t >= tokens{1} && t <= o.longest) edges.push_back(t);
  return edges;
}

/// The edge lengths, then as many random ones as there are cases.
[[nodiscard]] inline std::vector<tokens> trial_lengths(const options& o, generator& random) {
  std::vector<tokens> lengths = edge_lengths(o);
  for (int i = 0; i < o.cases; ++i) lengths.push_back(random.length(o.longest));
  return lengths;
}

/// A batch whose samples share beginnings, of as many sequences: any shape between a list and a chain. Samples end with
/// each sequence that nothing goes on behind, and inside or at the end of some others; they train on some runs of
/// tokens.
/// Requires  n >= 1, longest >= 1
[[nodiscard]] inline forest trial_forest(generator& random, std::int64_t n, tokens longest) {
  forest made;
  std::vector<sequence_id> path;
  const std::int64_t depth = random.between(0, 4);  // 0: a list; the larger, the longer paths get
  while (static_cast<std::int64_t>(made.lengths.size()) < n) {
    if (depth == 0)
      path.clear();
    else if (random.once_in(depth))
      for (std::int64_t up = random.between(0, static_cast<std::int64_t>(path.size())); up > 0; --up) path.pop_back();
    made.parents.push_back(path.empty() ? no_parent : path.back());
    path.push_back({static_cast<std::uint32_t>(made.lengths.size())});
    made.lengths.push_back(random.length(longest));
  }
  for (const sequence& s : batch_view(made).sequences()) {
    const bool goes_on = s.id.value + 1 < made.parents.size() && made.parents[s.id.value + 1] == s.id;
    if (s.length > tokens{1} && random.once_in(4))
      made.samples.push_back({s.id, s.begin + tokens{random.between(1, s.length.value - 1)}});
    if (!goes_on || random.once_in(3))
      made.samples.push_back({s.id, s.end(), static_cast<std::uint32_t>(random.between(1, 3))});
    for (tokens at = std::max(s.begin, tokens{1}); at < s.end();) {
      if (!random.once_in(3)) at += tokens{random.between(0, (s.end() - at).value)};
      const tokens run{random.between(0, (s.end() - at).value)};
      if (run > tokens{0})
        made.targets.push_back({s.id, at, run, static_cast<std::uint32_t>(random.between(1, 3)), random.ratio()});
      at += run + tokens{1};
    }
  }
  return made;
}

}  // namespace slimpack::testing

#endif
