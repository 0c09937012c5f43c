#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/solvers/pack/align.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/naive/slices.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"
#include "batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace slimpack::align_test {
namespace {

micropacks packs_of(std::initializer_list<std::vector<slice>> list) {
  micropacks packs;
  for (const std::vector<slice>& one : list) {
    for (const slice& s : one) packs.append(s);
    packs.close();
  }
  return packs;
}
slice of(std::uint32_t sequence, std::int64_t begin, std::int64_t end) { return {{sequence}, {begin}, {end - begin}}; }

// Forward packs of 1000 tokens and two of 500, backward packs cut at 900. A quarter of the smaller pack beside 1000 is
// 125 tokens (backward packs of 900, 1100), beside 1500 likewise: 900 is 100 from 1000, nothing is as near to 1500.
TEST(Aligned, MovesForwardCutsToBackwardCutsThatAreNear) {
  const partition packs{packs_of({{of(0, 0, 1000)}, {of(0, 1000, 1500)}, {of(0, 1500, 2000)}}),
                        packs_of({{of(0, 900, 2000)}, {of(0, 0, 900)}})};
  const partition made = detail::aligned(packs, 0.25);
  EXPECT_EQ(made.forward, packs_of({{of(0, 0, 900)}, {of(0, 900, 1500)}, {of(0, 1500, 2000)}}));
  EXPECT_EQ(made.backward, packs.backward);
  EXPECT_EQ(detail::aligned(packs, 0.19), packs) << "95 tokens";
}

// 50 tokens of the longer sequence are left for the other pack: either pass gives them to the pack of its rest.
TEST(Aligned, MovesCutsOfEitherPassToTheEndsOfSequences) {
  const partition packs{packs_of({{of(0, 0, 950)}, {of(0, 950, 1000), of(1, 0, 400)}}),
                        packs_of({{of(1, 0, 400), of(0, 60, 1000)}, {of(0, 0, 60), of(2, 0, 500)}})};
  partition all = packs;
  all.forward.append(of(2, 0, 500)), all.forward.close();
  const partition made = detail::aligned(all, 0.2);
  EXPECT_EQ(made.forward, packs_of({{of(0, 0, 1000)}, {of(1, 0, 400)}, {of(2, 0, 500)}}));
  EXPECT_EQ(made.backward, packs_of({{of(1, 0, 400), of(0, 0, 1000)}, {of(2, 0, 500)}}));
}

std::set<std::pair<sequence_id, tokens>> borders_of(const micropacks& packs) {
  std::set<std::pair<sequence_id, tokens>> borders;
  for (const slice& s : packs.slices()) borders.insert({s.sequence, s.begin}), borders.insert({s.sequence, s.end()});
  return borders;
}

TEST(Aligned, KeepsTokensOrderAndPlacesWhereTheSlicerCut) {
  testing::generator random(5);
  std::size_t before = 0, after = 0;
  for (int i = 0; i < 200; ++i) {
    const std::vector<tokens> lengths = tests::random_lengths(random, 12, {6000});
    const partition packs = testing::random_partition(lengths, {128}, costs::quadratic{}, random);
    const partition made = detail::aligned(packs, 0.05 * static_cast<double>(random.between(0, 30)));
    auto places = borders_of(packs.forward);
    places.merge(borders_of(packs.backward));
    for (const pass p : {pass::forward, pass::backward}) {
      std::vector<sequence_id> first, then;  // sequences, in the order in which they begin
      for (const auto& [from, to] : {std::pair{&packs.of(p), &first}, {&made.of(p), &then}})
        for (const slice& s : from->slices())
          if (std::find(to->begin(), to->end(), s.sequence) == to->end()) to->push_back(s.sequence);
      EXPECT_EQ(first, then) << "seed 5, batch " << i;
      std::map<sequence_id, tokens> at;  // where the next slice begins, or ends
      for (const slice& s : made.of(p).slices()) {
        const tokens length = lengths[s.sequence.value];
        const tokens next = at.try_emplace(s.sequence, p == pass::forward ? tokens{} : length).first->second;
        EXPECT_EQ(p == pass::forward ? s.begin : s.end(), next) << "seed 5, batch " << i;
        at[s.sequence] = p == pass::forward ? s.end() : s.begin;
        EXPECT_TRUE(places.contains({s.sequence, s.begin}));
      }
      for (const auto& [s, end] : at) EXPECT_EQ(end, p == pass::forward ? lengths[s.value] : tokens{});
      EXPECT_EQ(at.size(), lengths.size());
    }
    before += common_refinement(packs).forward.slices().size(),
        after += common_refinement(made).forward.slices().size();
  }
  EXPECT_LT(after, before);
}

// A cut moves to the beginning of its sequence on its path, and not to the root's.
TEST(Aligned, KeepsToPaths) {
  for (int seed = 1; seed <= tests::cases(200); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const forest batch = testing::trial_forest(random, random.between(1, 12), {6000});
    const std::vector<sequence> all = batch_view(batch).sequences();
    const partition packs = testing::random_partition(batch, {128}, costs::quadratic{}, random);
    const partition made = detail::aligned(packs, 0.05 * static_cast<double>(random.between(0, 30)));
    for (const pass p : both_passes) {
      EXPECT_EQ(testing::naive::broken_path(made.of(p), all, p), std::nullopt) << "seed " << seed;
      const auto slices = testing::naive::by_sequence(made.of(p));
      ASSERT_EQ(slices.size(), all.size()) << "seed " << seed;
      for (const sequence& s : all)
        EXPECT_EQ(testing::naive::gap(slices.at(s.id), s.whole(), p), std::nullopt) << "seed " << seed;
    }
  }
}

TEST(Aligned, OfNothingIsNothing) { EXPECT_EQ(detail::aligned({}, 1), partition{}); }

}  // namespace
}  // namespace slimpack::align_test
