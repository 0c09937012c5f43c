#include <slimpack/profiling/trials.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::trials_test {
namespace {

using profiling::plan_of;
using profiling::trial;
using profiling::trials_for;

/// "64x16" for 64 sequences of one slice of 16 tokens, "1x16+32" for one of two; with a W where weight gradients run
/// apart.
std::vector<std::string> names_of(const std::vector<trial>& all) {
  std::vector<std::string> names;
  for (const trial& t : all) {
    std::string& name = names.emplace_back(std::to_string(t.copies));
    for (std::size_t i = 0; i < t.slices.size(); ++i) name += (i == 0 ? "x" : "+") + std::to_string(t.slices[i].value);
    if (t.apart) name += 'W';
  }
  return names;
}

// 16, 32, 64 and the longest, as many as 1024 tokens hold; the longest by quanta of 1 and 2, since 4 are more than half
// of it, with the rest at the end; the other way round; the shortest alone and eight of it.
TEST(Trials, AreWholeSequencesAndTheLongestCutInTwoOrders) {
  EXPECT_EQ(names_of(trials_for({100}, {16}, false)),
            (std::vector<std::string>{"64x16", "32x32", "16x64", "10x100", "1x16+32+16+32+4", "1x32+16+32+16+4", "1x16",
                                      "8x16"}));
}

TEST(Trials, RunWholeSequencesAgainWhereWeightGradientsRunApart) {
  EXPECT_EQ(names_of(trials_for({32}, {16}, true, {64})),
            (std::vector<std::string>{"4x16", "2x32", "1x16+16", "1x16+16", "1x16", "8x16", "4x16W", "2x32W"}));
}

TEST(Trials, OfASingleTokenAreThatToken) {
  EXPECT_EQ(names_of(trials_for({1}, {64}, false, {4})), (std::vector<std::string>{"4x1", "1x1", "1x1", "1x1", "8x1"}));
}

TEST(Trials, CutNoSequenceLongerThanTheLongest) {
  for (std::int64_t longest = 1; longest < 300; longest += 7)
    for (const std::int64_t quantum : {1, 16, 1000}) {
      std::size_t whole = 0;
      for (const trial& t : trials_for({longest}, {quantum}, true)) {
        EXPECT_LE(t.length(), tokens{longest});
        if (t.length() == tokens{longest}) ++whole;
        for (const tokens n : t.slices) EXPECT_GE(n, tokens{1});
      }
      EXPECT_GE(whole, 4u) << longest << " tokens, quantum " << quantum;  // whole, in two orders, apart
    }
}

std::string text_of(const program& code, int chunks) {
  std::string text;
  for (const instruction& i : code) text += name_of(i, chunks) + ' ';
  return text;
}

TEST(PlanOfATrial, RunsForwardsOfAllChunksAndThenBackwardsOnEachStage) {
  const plan p = plan_of({3, {{16}, {4}}}, {.stages = 2, .replicas = 5, .chunks = 2, .quantum = {64}});
  ASSERT_EQ(p.replicas.size(), 1u);
  EXPECT_EQ(p.shape.replicas, 1);
  EXPECT_EQ(p.shape.quantum, tokens{1});  // slices of 4 tokens are cut off it
  EXPECT_EQ(p.lengths, (std::vector<tokens>{{20}, {20}, {20}}));
  const replica_plan& r = p.replicas[0];
  ASSERT_EQ(r.programs.size(), 2u);
  for (const program& code : r.programs) EXPECT_EQ(text_of(code, 2), "F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 B1.0 ");
  ASSERT_EQ(r.partition.forward.size(), 2u);
  ASSERT_EQ(r.partition.backward.size(), 2u);
  EXPECT_EQ(r.partition.forward[1].size(), 3u);  // side by side
  EXPECT_EQ(r.partition.forward[1][2], (slice{{2}, {16}, {4}}));
  EXPECT_EQ(r.partition.backward[0][2], (slice{{2}, {16}, {4}}));  // the last slices come first
  EXPECT_TRUE(r.times.apart.flags.empty());
}

TEST(PlanOfATrial, RunsEachPacksWeightGradientsAfterItsBackwardWhereTheyAreApart) {
  const replica_plan r = plan_of({1, {{8}, {8}}, true}, {.stages = 1}).replicas[0];
  EXPECT_EQ(text_of(r.programs[0], 1), "F0 F1 B0 W0 B1 W1 ");
  EXPECT_EQ(r.times.apart.flags, (std::vector<std::uint8_t>{1, 1}));
}

TEST(PlanOfATrial, AsksForNoMemoryAndSpreadsNoVocabulary) {
  shape on{.stages = 2};
  on.memory = memory_limit{memory_unit::token, 1};
  on.vocabulary = vocabulary::spread;
  const plan p = plan_of({1, {{8}}}, on);
  EXPECT_FALSE(p.shape.memory);
  EXPECT_EQ(p.shape.vocabulary, vocabulary::last);
}

}  // namespace
}  // namespace slimpack::trials_test
