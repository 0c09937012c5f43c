#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::batch_view_test {
namespace {

/// A question of 4 tokens, two answers of 3 and 2, and a sample that shares nothing.
forest dialogue() {
  return {.lengths = {{4}, {3}, {2}, {6}},
          .parents = {no_parent, {0}, {0}, no_parent},
          .samples = {{{0}, {3}}, {{1}, {7}, 2}, {{2}, {6}}, {{3}, {6}}},
          .targets = {{{0}, {1}, {2}}, {{1}, {4}, {3}, 2}, {{2}, {5}, {1}}, {{3}, {1}, {2}}, {{3}, {3}, {3}, 1, -2}}};
}

TEST(BatchView, OfAListHasRoots) {
  const std::vector<tokens> lengths{{4}, {9}};
  const batch_view batch = lengths;
  EXPECT_EQ(batch.sequences(), (std::vector<sequence>{{{0}, {4}}, {{1}, {9}}}));
  EXPECT_FALSE(batch.shares_prefixes());
  EXPECT_EQ(batch.longest(), tokens{9});
  EXPECT_EQ(batch.fault(), std::nullopt);
  const std::vector<sequence_id> none{no_parent, no_parent};
  EXPECT_EQ((batch_view{lengths, none}.sequences()), batch.sequences());
  EXPECT_FALSE((batch_view{lengths, none}.shares_prefixes()));
  EXPECT_TRUE(batch_view{}.empty());
}

TEST(BatchView, OfAForestBeginsSequencesWhereTheirParentsEnd) {
  const forest f = dialogue();
  const batch_view batch = f;
  EXPECT_EQ(batch.sequences(),
            (std::vector<sequence>{{{0}, {4}}, {{1}, {3}, {4}, {0}}, {{2}, {2}, {4}, {0}}, {{3}, {6}}}));
  EXPECT_TRUE(batch.shares_prefixes());
  EXPECT_EQ(batch.longest(), tokens{7});
  EXPECT_EQ(batch.fault(), std::nullopt);
  EXPECT_EQ(batch.size(), 4u);
}

TEST(BatchView, OfRandomForestsHasNoFault) {
  for (int seed = 1; seed <= tests::cases(200); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const std::int64_t n = random.between(1, 30);
    const forest f = testing::trial_forest(random, n, {500});
    const batch_view batch = f;
    EXPECT_EQ(batch.fault(), std::nullopt) << "seed " << seed;
    EXPECT_EQ(batch.size(), static_cast<std::size_t>(n));
    for (const sequence& s : batch.sequences()) {
      const std::optional<tokens> end =
          s.is_root() ? std::nullopt : std::optional(batch.sequences()[s.parent.value].end());
      EXPECT_EQ(s.begin, end.value_or(tokens{})) << "seed " << seed;
      EXPECT_LE(s.end(), batch.longest());
    }
  }
}

TEST(BatchView, SaysWhatIsWrongWithAForest) {
  const auto fault = [](const std::function<void(forest&)>& change) {
    forest f = dialogue();
    change(f);
    return batch_view(f).fault().value_or("nothing");
  };
  EXPECT_EQ(fault([](forest&) {}), "nothing");
  EXPECT_EQ(fault([](forest& f) { f.lengths[2] = {0}; }), "sequence 2 has 0 tokens; lengths run from 1 to 2147483647");
  EXPECT_EQ(fault([](forest& f) { f.parents.pop_back(); }), "there are 3 parents for 4 sequences");
  EXPECT_NE(fault([](forest& f) { f.parents[2] = {2}; }), "nothing");
  EXPECT_NE(fault([](forest& f) { f.parents[2] = {4}; }), "nothing");
  EXPECT_EQ(fault([](forest& f) { f.lengths[0] = longest_supported; }),
            "sequence 1 ends at token 2147483650 of its path; paths have at most 2147483647");
}

TEST(BatchView, SaysWhatIsWrongWithSamplesAndTargets) {
  const auto fault = [](const std::function<void(forest&)>& change) {
    forest f = dialogue();
    change(f);
    return batch_view(f).fault().value_or("nothing");
  };
  EXPECT_EQ(fault([](forest& f) { f.samples[1].at = {8}; }),
            "sample 1 is of tokens [7, 8) of sequence 1, which has [4, 7)");
  EXPECT_EQ(fault([](forest& f) { f.samples[1].at = {4}; }),
            "sample 1 is of tokens [3, 4) of sequence 1, which has [4, 7)");
  EXPECT_EQ(fault([](forest& f) { f.samples[3].sequence = {4}; }), "sample 3 is of sequence 4, which is not there");
  EXPECT_EQ(fault([](forest& f) { f.samples[2].count = 0; }), "sample 2 stands for none: its count is at least 1");
  EXPECT_NE(fault([](forest& f) { std::swap(f.samples[1], f.samples[2]); }), "nothing");
  EXPECT_NE(fault([](forest& f) { f.samples.insert(f.samples.begin(), f.samples[0]); }), "nothing")
      << "equal samples are one, with their count";
  EXPECT_EQ(fault([](forest& f) { f.targets[0].begin = {0}; }),
            "target 0 has the first token of a root, which nothing predicts");
  EXPECT_EQ(fault([](forest& f) { f.targets[1].length = {4}; }),
            "target 1 is of tokens [4, 8) of sequence 1, which has [4, 7)");
  EXPECT_NE(fault([](forest& f) { f.targets[2].length = {0}; }), "nothing");
  EXPECT_NE(fault([](forest& f) { f.targets[3].length = {3}; }), "nothing") << "it overlaps the next";
  EXPECT_NE(fault([](forest& f) { f.targets[3].count = 0; }), "nothing");
  EXPECT_NE(fault([](forest& f) { f.targets[4].weight = std::numeric_limits<double>::infinity(); }), "nothing");
  EXPECT_NE(fault([](forest& f) { f.targets[4].length = {std::numeric_limits<std::int64_t>::max()}; }), "nothing");
}

}  // namespace
}  // namespace slimpack::batch_view_test
