#ifndef SLIMPACK_TESTS_SUPPORT_RANDOM_FOREST_HPP
#define SLIMPACK_TESTS_SUPPORT_RANDOM_FOREST_HPP

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/testing/generator.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::tests {

/// How large random forests are.
struct forest_size {
  std::int64_t roots{6};
  std::int64_t depth{8};     ///< sequences of a path
  std::int64_t children{4};  ///< of one sequence
  std::int64_t most{60};     ///< sequences
  tokens longest{3000};      ///< of one sequence
};

/// Parents and lengths of samples that share beginnings.
struct random_forest {
  std::vector<tokens> lengths;
  std::vector<sequence_id> parents;

  random_forest(testing::generator& random, const forest_size& size) {
    for (std::int64_t n = random.between(1, size.roots); n > 0; --n) grow(random, size, no_parent, 1);
  }
  operator batch_view() const noexcept { return {lengths, parents}; }

 private:
  void grow(testing::generator& random, const forest_size& size, sequence_id parent, std::int64_t depth) {
    const sequence_id own{static_cast<std::uint32_t>(lengths.size())};
    lengths.push_back(random.length(size.longest));
    parents.push_back(parent);
    if (depth == size.depth || random.once_in(3)) return;
    for (std::int64_t n = random.between(0, size.children); n > 0; --n)
      if (static_cast<std::int64_t>(lengths.size()) < size.most) grow(random, size, own, depth + 1);
  }
};

}  // namespace slimpack::tests

#endif
