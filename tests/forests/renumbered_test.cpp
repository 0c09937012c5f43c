#include <slimpack/forests/renumbered.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace slimpack::renumbered_test {
namespace {

using ids = std::vector<std::optional<sequence_id>>;

/// A conversation, of which each turn is a sample: 10 tokens, 5 more, 7 more; from the second on, another answer of 3.
forest conversation() {
  return {.lengths = {{10}, {5}, {7}, {3}, {4}},
          .parents = {no_parent, {0}, {1}, {1}, no_parent},
          .samples = {{{0}, {10}}, {{1}, {15}}, {{2}, {22}}, {{3}, {18}}, {{4}, {4}}},
          .targets = {{{0}, {8}, {2}}, {{1}, {10}, {2}}, {{2}, {15}, {7}}, {{3}, {15}, {3}}, {{4}, {1}, {3}}}};
}

TEST(MergedChains, EndsSequencesOnlyWhereSamplesPart) {
  const forests::renumbered made = forests::merged_chains(conversation());
  EXPECT_EQ(made.all.lengths, (std::vector<tokens>{{15}, {7}, {3}, {4}}));
  EXPECT_EQ(made.all.parents, (std::vector<sequence_id>{no_parent, {0}, {0}, no_parent}));
  EXPECT_EQ(made.now, (ids{{{0}}, {{0}}, {{1}}, {{2}}, {{3}}}));
  EXPECT_FALSE(slimpack::batch_view(made.all).fault()) << *slimpack::batch_view(made.all).fault();
}

TEST(MergedChains, KeepsWhereSamplesEnd) {
  EXPECT_EQ(forests::merged_chains(conversation()).all.samples,
            (std::vector<sample_end>{{{0}, {10}}, {{0}, {15}}, {{1}, {22}}, {{2}, {18}}, {{3}, {4}}}));
}

TEST(MergedChains, MakesOneRunOfTargetsThatGoOn) {
  const forests::renumbered made = forests::merged_chains(conversation());
  EXPECT_EQ(made.all.targets,
            (std::vector<target_run>{{{0}, {8}, {4}}, {{1}, {15}, {7}}, {{2}, {15}, {3}}, {{3}, {1}, {3}}}));
  forest twice = conversation();
  twice.targets[0].count = 2, twice.targets[0].weight = 2;
  EXPECT_EQ(forests::merged_chains(twice).all.targets.front(), (target_run{{0}, {8}, {2}, 2, 2}));
  EXPECT_EQ(forests::merged_chains(twice).all.targets[1], (target_run{{0}, {10}, {2}}));
}

TEST(MergedChains, LeavesAListAsItIs) {
  const forest list{.lengths = {{3}, {4}}, .parents = {no_parent, no_parent}};
  EXPECT_EQ(forests::merged_chains(list).all, list);
  EXPECT_EQ(forests::merged_chains({.lengths = {{3}, {4}}}).all, list);
}

TEST(WithoutTails, EndsPathsWithTheirLastTarget) {
  forest f = conversation();
  f.targets[2] = {{2}, {15}, {1}};  // of seven tokens one is trained on
  const forests::renumbered made = forests::without_tails(f);
  EXPECT_EQ(made.all.lengths, (std::vector<tokens>{{10}, {5}, {1}, {3}, {4}}));
  EXPECT_EQ(made.all.samples[2], (sample_end{{2}, {16}}));
  EXPECT_EQ(made.all.targets, f.targets);
  EXPECT_FALSE(slimpack::batch_view(made.all).fault()) << *slimpack::batch_view(made.all).fault();
}

TEST(WithoutTails, LeavesOutSequencesWithoutTargetsBelow) {
  forest f = conversation();
  f.targets = {{{1}, {10}, {2}}, {{3}, {15}, {2}}};
  const forests::renumbered made = forests::without_tails(f);
  EXPECT_EQ(made.all.lengths, (std::vector<tokens>{{10}, {5}, {2}}));
  EXPECT_EQ(made.now, (ids{{{0}}, {{1}}, std::nullopt, {{2}}, std::nullopt}));
  EXPECT_EQ(made.all.samples, (std::vector<sample_end>{{{0}, {10}}, {{1}, {15}, 2}, {{2}, {17}}}));
  EXPECT_EQ(made.all.targets, (std::vector<target_run>{{{1}, {10}, {2}}, {{2}, {15}, {2}}}));
  EXPECT_FALSE(slimpack::batch_view(made.all).fault()) << *slimpack::batch_view(made.all).fault();
}

TEST(WithoutTails, EndsASampleWhereWhatIsLeftOfASequenceDoes) {
  forest f = conversation();
  f.targets = {{{0}, {5}, {2}}};
  const forests::renumbered made = forests::without_tails(f);
  EXPECT_EQ(made.all.lengths, (std::vector<tokens>{{7}}));
  EXPECT_EQ(made.all.samples, (std::vector<sample_end>{{{0}, {7}, 4}}));
  EXPECT_TRUE(forests::without_tails({.lengths = {{5}}, .samples = {{{0}, {5}}}}).all.lengths.empty());
}

}  // namespace
}  // namespace slimpack::renumbered_test
