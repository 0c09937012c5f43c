#ifndef SLIMPACK_TESTS_SOLVERS_BATCHES_HPP
#define SLIMPACK_TESTS_SOLVERS_BATCHES_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/effort.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <set>
#include <vector>

/// Batches and costs that the tests of solvers share.
namespace slimpack::tests {

/// A second for each token of a forward, two for each of a backward.
inline constexpr costs::quadratic per_token{.linear = 1, .attention = 0};

[[nodiscard]] inline std::vector<tokens> lengths_of(std::initializer_list<std::int64_t> list) {
  std::vector<tokens> lengths;
  for (const std::int64_t n : list) lengths.push_back({n});
  return lengths;
}

/// 1 to `most` sequences of one of the kinds that solvers trip over: long-tailed, uniform, whole and half lengths,
/// mostly single tokens, simple fractions of the longest.
[[nodiscard]] inline std::vector<tokens> random_lengths(testing::generator& random, std::int64_t most, tokens longest) {
  const std::int64_t kind = random.between(0, 4);
  std::vector<tokens> lengths;
  for (std::int64_t n = random.between(1, most); n > 0; --n) {
    const auto length = [&]() -> tokens {
      switch (kind) {
        case 0:
          return random.length(longest);
        case 1:
          return {random.between(1, longest.value)};
        case 2:
          return random.once_in(3) ? tokens{longest.value / 2} : longest;
        case 3:
          return random.once_in(8) ? random.length(longest) : tokens{1};
        default:
          return {longest.value / random.between(1, 5)};
      }
    };
    lengths.push_back(std::max(tokens{1}, length()));
  }
  return lengths;
}

[[nodiscard]] inline tokens longest_of(const std::vector<tokens>& lengths) {
  return *std::max_element(lengths.begin(), lengths.end());
}

/// The lengths of the sequences in a pack, as numbers.
[[nodiscard]] inline std::vector<std::int64_t> members(std::span<const slice> pack) {
  std::vector<std::int64_t> found;
  for (const slice& s : pack) found.push_back(s.length.value);
  return found;
}

/// The packs of a pass as lists of slice lengths.
[[nodiscard]] inline std::vector<std::vector<std::int64_t>> members(const micropacks& packs) {
  std::vector<std::vector<std::int64_t>> found;
  for (std::size_t i = 0; i < packs.size(); ++i) found.push_back(members(packs[i]));
  return found;
}

}  // namespace slimpack::tests

#endif
