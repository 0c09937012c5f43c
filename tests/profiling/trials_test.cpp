#include <slimpack/profiling/trials.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::trials_test {
namespace {

using profiling::plan_of;
using profiling::side_by_side;
using profiling::size_of;
using profiling::trial;
using profiling::trials_for;

/// "64x16" for a pack of 64 whole sequences of 16 tokens, "32@16" for a slice behind a prefix of 16, "50+25" for unlike
/// slices; a W where weight gradients run apart.
std::string name_of_pack(const std::vector<slice>& pack) {
  std::string name;
  for (std::size_t i = 0, same = 0; i < pack.size(); i += same) {
    const slice& first = pack[i];
    for (same = 1; i + same < pack.size(); ++same)
      if (pack[i + same].begin != first.begin || pack[i + same].length != first.length) break;
    if (i > 0) name += '+';
    if (same > 1) name += std::to_string(same) + 'x';
    name += std::to_string(first.length.value);
    if (first.begin > tokens{}) name += '@' + std::to_string(first.begin.value);
  }
  return name;
}
std::vector<std::string> names_of(const std::vector<trial>& all) {
  std::vector<std::string> names;
  for (const trial& t : all) {
    std::string& name = names.emplace_back();
    for (const std::vector<slice>& pack : t.packs) name += (name.empty() ? "" : " ") + name_of_pack(pack);
    if (t.apart) name += " W";
  }
  return names;
}

// From few attended pairs to many: the shortest, alone and eight together; 50 and 25 in one pack; the longest by quanta
// of 1 and 2, since 4 are more than half of it, with the rest at the end, and the other way round; then all lengths
// alone, as many as 1024 tokens hold.
TEST(Trials, AreWholeSequencesCutOnesAndUnlikeLengths) {
  EXPECT_EQ(names_of(trials_for({100}, {16}, false)),
            (std::vector<std::string>{"16 16 16", "8x16 8x16 8x16", "50+25 50+25 50+25", "16 32@16 16@48 32@64 4@96",
                                      "32 16@32 32@48 16@80 4@96", "64x16", "42x24", "32x32", "21x48", "16x64", "10x96",
                                      "10x100"}));
}

// A half and an eighth of the longest lie in four slices, each with a half and an eighth of such a slice.
TEST(Trials, PutSlicesIntoTheCompanyOfWholeSequences) {
  const std::vector<std::string> names = names_of(trials_for({2048}, {64}, false));
  for (const char* expected : {"256+128+32 256@256+128+32 256@512+128+32 256@768+128+32",
                               "64+32+8 64@64+32+8 64@128+32+8 64@192+32+8", "1024+512+256+128+64+32+16"})
    EXPECT_EQ(std::count(names.begin(), names.end(), expected), 1) << expected;
}

TEST(Trials, HoldUpToThreePacksOfAKindAtATime) {
  const std::vector<std::string> names = names_of(trials_for({3000}, {64}, false));
  for (const char* expected : {"16x64 16x64", "768 768 768", "1024 1024", "1536", "2048", "3000"})
    EXPECT_EQ(std::count(names.begin(), names.end(), expected), 1) << expected;
}

TEST(Trials, RunWholeSequencesAgainWhereWeightGradientsRunApart) {
  EXPECT_EQ(names_of(trials_for({32}, {16}, true, {64})),
            (std::vector<std::string>{"16 16 16", "16 16@16", "16 16@16", "4x16", "4x16 W", "2x24", "2x24 W", "2x32",
                                      "2x32 W", "8x16"}));
}

TEST(Trials, OfASingleTokenAreThatToken) {
  EXPECT_EQ(names_of(trials_for({1}, {64}, false, {4})), (std::vector<std::string>{"1", "1", "1 1 1", "4x1", "8x1"}));
}

TEST(Trials, HoldNoMoreThanTheLongestSequence) {
  for (std::int64_t longest = 1; longest < 3000; longest += longest < 300 ? 7 : 211)
    for (const std::int64_t quantum : {1, 16, 1000}) {
      std::size_t whole = 0;
      double before = 0;
      for (const trial& t : trials_for({longest}, {quantum}, true)) {
        tokens all{};
        for (const tokens n : t.lengths()) {
          EXPECT_LE(n, tokens{longest});
          EXPECT_GE(n, tokens{1});
          all += n;
        }
        EXPECT_LE(all, tokens{std::max<std::int64_t>(longest, 1024)});
        EXPECT_EQ(static_cast<double>(all.value), size_of(t).tokens);
        EXPECT_LE(before, size_of(t).pairs);
        before = size_of(t).pairs;
        if (t.lengths().back() == tokens{longest}) ++whole;
      }
      EXPECT_GE(whole, 4u) << longest << " tokens, quantum " << quantum;  // whole, in two orders, apart
    }
}

TEST(Trials, AreToldInWords) {
  EXPECT_EQ(text_of(side_by_side(4, std::vector<tokens>{{16}}, 3)), "3 packs with 12 slices of 16 tokens");
  EXPECT_EQ(text_of(side_by_side(1, std::vector<tokens>{{16}, {1}})), "2 packs with 2 slices of 1 to 16 tokens");
  EXPECT_EQ(text_of(trial{{{{{0}, {0}, {1}}}}, true}), "1 pack with 1 slice of 1 token, weight gradients apart");
}

TEST(Trials, HaveSizesOfAllThatATimeIsMadeOf) {
  trial t = side_by_side(2, std::vector<tokens>{{3}, {2}});  // 6 + 9 pairs of each sequence
  EXPECT_EQ(size_of(t).calls, 4);
  EXPECT_EQ(size_of(t).slices, 4);
  EXPECT_EQ(size_of(t).tokens, 10);
  EXPECT_EQ(size_of(t).pairs, 2 * 15);
  t.apart = true;
  EXPECT_EQ(size_of(t).calls, 6);
}

std::string code_of(const program& code, int chunks) {
  std::string text;
  for (const instruction& i : code) text += name_of(i, chunks) + ' ';
  return text;
}

TEST(PlanOfATrial, RunsForwardsOfAllChunksAndThenBackwardsOnEachStage) {
  const plan p = plan_of(side_by_side(3, std::vector<tokens>{{16}, {4}}),
                         {.stages = 2, .replicas = 5, .chunks = 2, .quantum = {64}});
  ASSERT_EQ(p.replicas.size(), 1u);
  EXPECT_EQ(p.shape.replicas, 1);
  EXPECT_EQ(p.shape.quantum, tokens{1});  // slices of 4 tokens are cut off it
  EXPECT_EQ(p.lengths, (std::vector<tokens>{{20}, {20}, {20}}));
  const replica_plan& r = p.replicas[0];
  ASSERT_EQ(r.programs.size(), 2u);
  for (const program& code : r.programs) EXPECT_EQ(code_of(code, 2), "F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 B1.0 ");
  ASSERT_EQ(r.partition.forward.size(), 2u);
  ASSERT_EQ(r.partition.backward.size(), 2u);
  EXPECT_EQ(r.partition.forward[1].size(), 3u);  // side by side
  EXPECT_EQ(r.partition.forward[1][2], (slice{{2}, {16}, {4}}));
  EXPECT_EQ(r.partition.backward[0][2], (slice{{2}, {16}, {4}}));  // the last slices come first
  EXPECT_TRUE(r.times.apart.flags.empty());
}

TEST(PlanOfATrial, RunsEachPacksWeightGradientsAfterItsBackwardWhereTheyAreApart) {
  trial t = side_by_side(1, std::vector<tokens>{{8}, {8}});
  t.apart = true;
  const replica_plan r = plan_of(t, {.stages = 1}).replicas[0];
  EXPECT_EQ(code_of(r.programs[0], 1), "F0 F1 B0 W0 B1 W1 ");
  EXPECT_EQ(r.times.apart.flags, (std::vector<std::uint8_t>{1, 1}));
}

TEST(PlanOfATrial, AsksForNoMemoryAndSpreadsNoVocabulary) {
  shape on{.stages = 2};
  on.memory = memory_limit{memory_unit::token, 1};
  on.vocabulary = vocabulary::spread;
  const plan p = plan_of(side_by_side(1, std::vector<tokens>{{8}}), on);
  EXPECT_FALSE(p.shape.memory);
  EXPECT_EQ(p.shape.vocabulary, vocabulary::last);
}

}  // namespace
}  // namespace slimpack::trials_test
