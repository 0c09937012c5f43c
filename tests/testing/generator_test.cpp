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
    const sequence s{{0}, random.length({3000})};
    const slice piece = random.slice_of(s, {128});
    EXPECT_EQ(piece.begin.value % 128, 0);
    EXPECT_GT(piece.length, tokens{0});
    EXPECT_TRUE(piece.end() == s.length || (piece.end() < s.length && piece.end().value % 128 == 0));
  }
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
