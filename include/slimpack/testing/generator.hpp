#ifndef SLIMPACK_TESTING_GENERATOR_HPP
#define SLIMPACK_TESTING_GENERATOR_HPP

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
    return {s.id, begin, end - begin};
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

}  // namespace slimpack::testing

#endif
