#include <slimpack/pricing/refine.hpp>
#include <slimpack/testing/naive.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace slimpack::refine_test {
namespace {

using packs_of_slices = std::vector<std::vector<slice>>;

packs_of_slices listed(const micropacks& packs) {
  packs_of_slices all;
  for (std::size_t i = 0; i < packs.size(); ++i) all.emplace_back(packs[i].begin(), packs[i].end());
  return all;
}

micropacks packed(const packs_of_slices& packs) {
  micropacks made;
  for (const std::vector<slice>& pack : packs) {
    for (const slice& s : pack) made.push(s);
    made.close();
  }
  return made;
}

//  forward    |0      512|512      1000|        cuts 0, 512
//  backward   |0  256|256          1000|        cuts 0, 256
TEST(CommonRefinement, CutsWhereEitherPassCuts) {
  const partition packs{packed({{{{1}, {0}, {512}}}, {{{1}, {512}, {488}}, {{0}, {0}, {64}}}}),
                        packed({{{{0}, {0}, {64}}, {{1}, {256}, {744}}}, {{{1}, {0}, {256}}}})};
  const partition refined = common_refinement(packs);
  EXPECT_EQ(listed(refined.forward),
            (packs_of_slices{{{{1}, {0}, {256}}, {{1}, {256}, {256}}}, {{{1}, {512}, {488}}, {{0}, {0}, {64}}}}));
  EXPECT_EQ(listed(refined.backward),
            (packs_of_slices{{{{0}, {0}, {64}}, {{1}, {512}, {488}}, {{1}, {256}, {256}}}, {{{1}, {0}, {256}}}}));
}

TEST(CommonRefinement, OfNothingIsNothing) { EXPECT_EQ(common_refinement({}), partition{}); }

TEST(CommonRefinement, ObeysItsLawsOnRandomPartitions) {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(tests::cases(200)); ++seed) {
    SCOPED_TRACE(seed);
    testing::generator random(seed);
    std::vector<tokens> lengths;
    for (std::int64_t n = random.between(1, 10); n > 0; --n) lengths.push_back(random.length({65536}));
    const partition packs = testing::random_partition(lengths, {128}, costs::quadratic{}, random);
    const partition refined = common_refinement(packs);
    EXPECT_EQ(common_refinement(refined), refined);

    const auto by_position = [](const micropacks& m) {
      std::vector<slice> all(m.slices().begin(), m.slices().end());
      std::sort(all.begin(), all.end(), [](const slice& a, const slice& b) {
        return std::pair{a.sequence, a.begin} < std::pair{b.sequence, b.begin};
      });
      return all;
    };
    EXPECT_EQ(by_position(refined.forward), by_position(refined.backward));

    std::set<std::pair<sequence_id, tokens>> wanted;  // no cut but those of the two passes
    std::set<std::pair<sequence_id, tokens>> found;
    for (const pass p : {pass::forward, pass::backward}) {
      for (const slice& s : packs.of(p).slices()) wanted.insert({s.sequence, s.begin});
      for (const slice& s : refined.of(p).slices()) found.insert({s.sequence, s.begin});
      ASSERT_EQ(refined.of(p).size(), packs.of(p).size());
      for (std::size_t i = 0; i < packs.of(p).size(); ++i) {
        micropacks joined;  // the pieces of a pack join to its slices again
        for (const slice& s : refined.of(p)[i]) joined.push(s);
        joined.close();
        micropacks before;
        for (const slice& s : packs.of(p)[i]) before.push(s);
        before.close();
        EXPECT_EQ(joined, before) << "pack " << i;
      }
      for (const auto& [s, run] : testing::naive::by_sequence(refined.of(p)))
        EXPECT_EQ(testing::naive::gap(run, {s, {0}, lengths[s.value]}, p), std::nullopt);
    }
    EXPECT_EQ(found, wanted);
  }
}

}  // namespace
}  // namespace slimpack::refine_test
