#include <slimpack/core/ensemble/ensembles.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>
#include <boost/pending/disjoint_sets.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::disjoint_sets_test {
namespace {

TEST(DisjointSets, AreThoseOfBoostAndTheSmallestStandsForEach) {
  testing::generator random(51);
  for (int i = 0; i < 50; ++i) {
    const std::size_t size = static_cast<std::size_t>(random.between(1, 60));
    detail::disjoint_sets ours(size);
    std::vector<std::size_t> rank(size);
    std::vector<std::size_t> parent(size);
    boost::disjoint_sets<std::size_t*, std::size_t*> theirs(rank.data(), parent.data());
    for (std::size_t n = 0; n < size; ++n) theirs.make_set(n);
    const auto any = [&] { return static_cast<std::uint32_t>(random.between(0, static_cast<std::int64_t>(size) - 1)); };
    for (std::int64_t k = random.between(0, 60); k > 0; --k) {
      const std::uint32_t a = any();
      const std::uint32_t b = any();
      ours.unite(a, b);
      theirs.union_set(std::size_t{a}, std::size_t{b});
    }
    for (std::uint32_t a = 0; a < size; ++a) {
      EXPECT_LE(ours.representative(a), a);
      for (std::uint32_t b = 0; b < size; ++b)
        EXPECT_EQ(ours.representative(a) == ours.representative(b),
                  theirs.find_set(std::size_t{a}) == theirs.find_set(std::size_t{b}));
    }
  }
}

}  // namespace
}  // namespace slimpack::disjoint_sets_test
