#include <slimpack/testing/naive/slices.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::slices_test {
namespace {

using testing::naive::by_sequence;
using testing::naive::gap;
using testing::naive::runs_of;

constexpr sequence_id one{1}, two{2};

/// Packs of these slices.
micropacks packs_of(const std::vector<std::vector<slice>>& packs) {
  micropacks made;
  for (const std::vector<slice>& pack : packs) {
    for (const slice& s : pack) made.push(s);
    made.close();
  }
  return made;
}

TEST(NaiveSlices, AreGatheredBySequenceInRunOrder) {
  const auto found = by_sequence(packs_of({{{one, {0}, {4}}, {two, {0}, {3}}}, {{one, {4}, {5}}}, {{two, {3}, {1}}}}));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at(one), (std::vector<slice>{{one, {0}, {4}}, {one, {4}, {5}}}));
  EXPECT_EQ(found.at(two), (std::vector<slice>{{two, {0}, {3}}, {two, {3}, {1}}}));
  EXPECT_TRUE(by_sequence({}).empty());
}

constexpr slice ten{one, {0}, {10}};

/// What is wrong with slices of a sequence of 10 tokens.
std::string wrong(const std::vector<slice>& slices, pass p) { return gap(slices, ten, p).value_or("nothing"); }

TEST(NaiveSlices, RunThroughASequenceFromEndToEnd) {
  const slice front{one, {0}, {4}}, back{one, {4}, {6}};
  EXPECT_EQ(gap(std::vector{front, back}, ten, pass::forward), std::nullopt);
  EXPECT_EQ(gap(std::vector{back, front}, ten, pass::backward), std::nullopt);
  EXPECT_EQ(wrong({back, front}, pass::forward), "at 4 instead of 0");
  EXPECT_EQ(wrong({front, back}, pass::backward), "at 4 instead of 10");
}

TEST(NaiveSlices, MissOrRepeatNothing) {
  EXPECT_EQ(wrong({{one, {0}, {4}}, {one, {5}, {5}}}, pass::forward), "at 5 instead of 4");
  EXPECT_EQ(wrong({{one, {0}, {4}}, {one, {3}, {7}}}, pass::forward), "at 3 instead of 4");
  EXPECT_EQ(wrong({{one, {0}, {4}}}, pass::forward), "stops at 4 instead of 10");
  EXPECT_EQ(wrong({{one, {4}, {6}}}, pass::backward), "stops at 4 instead of 0");
  EXPECT_EQ(wrong({{one, {0}, {11}}}, pass::forward), "stops at 11 instead of 10");
  EXPECT_EQ(wrong({}, pass::forward), "stops at 0 instead of 10");
  EXPECT_EQ(wrong({{one, {0}, {0}}, {one, {0}, {10}}}, pass::forward), "a slice of 0 tokens");
}

TEST(NaiveSlices, OfASequenceInsideAPathBeginAtItsDepth) {
  const slice whole{one, {5}, {4}};
  EXPECT_EQ(gap(std::vector{slice{one, {5}, {1}}, slice{one, {6}, {3}}}, whole, pass::forward), std::nullopt);
  EXPECT_EQ(gap(std::vector{slice{one, {0}, {4}}}, whole, pass::forward), "at 0 instead of 5");
  EXPECT_EQ(gap(std::vector{slice{one, {6}, {3}}}, whole, pass::backward), "stops at 6 instead of 5");
}

// Sequence 1 and 2 go on behind 0: forward after it, backward before it.
TEST(NaiveSlices, RunThroughPaths) {
  const std::vector<sequence> batch{{{0}, {4}}, {{1}, {2}, {4}, {0}}, {{2}, {3}, {4}, {0}}};
  const slice root{{0}, {0}, {4}}, first{{0}, {0}, {2}}, rest{{0}, {2}, {2}}, left = batch[1].whole(),
                                                                              right = batch[2].whole();
  const auto said = [&](const std::vector<slice>& slices, pass p) {
    return testing::naive::broken_path(packs_of({slices}), batch, p).value_or("nothing");
  };
  EXPECT_EQ(said({root, right, left}, pass::forward), "nothing");
  EXPECT_EQ(said({first, right, rest, left}, pass::forward), "sequence 2 runs before sequence 0 has run");
  EXPECT_EQ(said({left, root}, pass::forward), "sequence 1 runs before sequence 0 has run");
  EXPECT_EQ(said({right, left, rest, first}, pass::backward), "nothing");
  EXPECT_EQ(said({right, rest, left, first}, pass::backward), "sequence 0 runs before sequence 1 has run");
}

// In whatever order they run; slices that touch are one run.
TEST(NaiveSlices, MakeUpRuns) {
  const micropacks packs =
      packs_of({{{one, {4}, {2}}}, {{two, {2}, {2}}}, {{one, {2}, {1}}, {two, {9}, {1}}}, {{one, {0}, {2}}}});
  using runs = std::vector<std::pair<tokens, tokens>>;
  EXPECT_EQ(runs_of(packs, one), (runs{{{0}, {3}}, {{4}, {6}}}));
  EXPECT_EQ(runs_of(packs, two), (runs{{{2}, {4}}, {{9}, {10}}}));
  EXPECT_TRUE(runs_of(packs, {3}).empty());
}

}  // namespace
}  // namespace slimpack::slices_test
