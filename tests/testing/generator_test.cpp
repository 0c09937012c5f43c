#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

namespace slimpack::generator_test {
namespace {

using testing::generator;

// The standard fixes the 10000th value of a default mt19937_64, 9981545732273789042, hence every number made of it.
TEST(LawGenerator, GivesTheSameNumbersEverywhere) {
  generator random(5489);  // the engine's default seed
  for (int i = 1; i < 10000; ++i) (void)random.ratio();
  EXPECT_EQ(random.between(0, 999), static_cast<std::int64_t>(9981545732273789042ULL % 1000));
}

TEST(LawGenerator, ReachesBothEndsAndNothingBeyond) {
  generator random(1);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.between(-2, 3));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1, 2, 3}));
}

TEST(LawGenerator, GivesLengthsOfEveryMagnitude) {
  generator random(2);
  std::int64_t shortest = 1000;
  std::int64_t longest = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t length = random.length({1000}).value;
    shortest = std::min(shortest, length);
    longest = std::max(longest, length);
  }
  EXPECT_EQ(shortest, 1);
  EXPECT_EQ(longest, 1000);
  EXPECT_EQ(random.length({1}), tokens{1});
}

TEST(LawGenerator, CutsPiecesOnTheQuantumWithinTheSequence) {
  generator random(3);
  for (int i = 0; i < 1000; ++i) {
    const sequence s{{0}, random.length({3000}), {random.between(0, 300)}};
    const slice piece = random.slice_of(s, {128});
    const tokens begin = piece.begin - s.begin, end = piece.end() - s.begin;
    EXPECT_EQ(begin.value % 128, 0);
    EXPECT_TRUE(begin >= tokens{0} && piece.length > tokens{0});
    EXPECT_TRUE(end == s.length || (end < s.length && end.value % 128 == 0));
  }
}

// From lists to chains; what its samples and targets have to obey is asked by BatchView's tests.
TEST(LawGenerator, GivesForestsOfEveryShape) {
  int lists = 0, chains = 0, forks = 0, inside = 0, repeated = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    generator random(seed);
    const forest f = testing::trial_forest(random, 8, {100});
    ASSERT_EQ(f.lengths.size(), 8u);
    const batch_view batch = f;
    std::vector<int> children(8);
    for (const sequence& s : batch.sequences())
      if (!s.is_root()) ++children[s.parent.value];
    lists += !batch.shares_prefixes();
    chains += std::count(children.begin(), children.end(), 1) == 7;
    forks += *std::max_element(children.begin(), children.end()) > 1;
    for (const sample_end& s : f.samples) {
      inside += s.at < batch.sequences()[s.sequence.value].end();
      repeated += s.count > 1;
    }
    generator again(seed);
    EXPECT_EQ(testing::trial_forest(again, 8, {100}), f);
  }
  for (const int seen : {lists, chains, forks, inside, repeated}) EXPECT_GT(seen, 0);
}

TEST(LawGenerator, ShufflesWithoutLoss) {
  generator random(4);
  std::vector<int> items(20);
  std::iota(items.begin(), items.end(), 0);
  const std::vector<int> before = items;
  random.shuffle(items);
  EXPECT_NE(items, before);
  std::sort(items.begin(), items.end());
  EXPECT_EQ(items, before);
}

TEST(LawGenerator, AlwaysTriesTheEdgeLengths) {
  EXPECT_EQ(testing::edge_lengths({.longest = {1000}, .quantum = {128}}),
            (std::vector<tokens>{{1}, {127}, {128}, {129}, {1000}}));
  EXPECT_EQ(testing::edge_lengths({.longest = {100}, .quantum = {128}}), (std::vector<tokens>{{1}, {100}}));
}

}  // namespace
}  // namespace slimpack::generator_test
