#include <slimpack/shapes/layout.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>

namespace slimpack::space_test {
namespace {

using shapes::layout;
using shapes::space;

std::tuple<int, int, int, int, int, costs::recompute> all_of(const layout& l) {
  return {l.shape.replicas, l.shape.stages, l.shape.tensor, l.shape.context, l.shape.chunks, l.recompute};
}

// 24 = 2^3 x 3. Every quadruple of degrees is tried, instead of divisors.
TEST(ShapeSpace, HoldsEachLegalFactoringOnce) {
  const space s{.gpus = 24, .gpus_per_node = 8, .layers = 12, .heads = 16};
  std::set<std::tuple<int, int, int, int, int, costs::recompute>> expected;
  for (int d = 1; d <= 24; ++d)
    for (int p = 1; p <= 24; ++p)
      for (int t = 1; t <= 24; ++t)
        for (int c = 1; c <= 24; ++c)
          for (int v = 1; v <= 4; v *= 2)
            if (d * p * t * c == 24 && 8 % t == 0 && 16 % t == 0 && p * v <= 12 && (v == 1 || p > 1))
              for (const costs::recompute again : s.recompute) expected.insert({d, p, t, c, v, again});
  const std::vector<layout> layouts = s.layouts();
  std::set<std::tuple<int, int, int, int, int, costs::recompute>> found;
  for (const layout& l : layouts) found.insert(all_of(l));
  EXPECT_EQ(found, expected);
  EXPECT_EQ(layouts.size(), found.size());
}

TEST(ShapeSpace, GivesEachLayoutAQuantumThatItsContextRanksDivide) {
  space s{.gpus = 24, .layers = 2, .heads = 8, .chunks = {1}, .recompute = {costs::recompute::none}};
  std::set<std::pair<int, std::int64_t>> found;
  for (const layout& l : s.layouts()) found.insert({l.shape.context, l.shape.quantum.value});
  EXPECT_EQ(found, (std::set<std::pair<int, std::int64_t>>{
                       {1, 128}, {2, 128}, {3, 132}, {4, 128}, {6, 132}, {8, 128}, {12, 144}, {24, 144}}));
  s.quantum = tokens{100};
  for (const layout& l : s.layouts()) EXPECT_EQ(l.shape.quantum, tokens{100}) << "one that is given stays";
}

// Each layout of several stages twice, where it is given so, and spread first.
TEST(ShapeSpace, SpreadsAVocabularyOverSeveralStages) {
  space s{.gpus = 4, .layers = 4, .heads = 4, .chunks = {1, 2}, .recompute = {costs::recompute::none}};
  const std::vector<layout> last = s.layouts();
  s.vocabularies = {vocabulary::spread, vocabulary::last};
  const std::vector<layout> both = s.layouts();
  std::vector<layout> expected;
  for (const layout& l : last) {
    layout spread = l;
    spread.shape.vocabulary = vocabulary::spread;
    EXPECT_EQ(spread.changes(l), 1);
    if (l.shape.stages > 1) expected.push_back(spread);
    expected.push_back(l);
  }
  EXPECT_EQ(both, expected);
  s.vocabularies = {vocabulary::spread};
  for (const layout& l : s.layouts()) EXPECT_GT(l.shape.stages, 1);
}

// Of 12 experts: every divisor of both these and the ranks of a stage, and nothing of a model without experts.
TEST(ShapeSpace, DividesExpertsAsRanksOfAStageAllow) {
  space s{.gpus = 16, .layers = 4, .heads = 16, .experts = 12, .chunks = {1}, .recompute = {costs::recompute::none}};
  std::set<std::tuple<int, int, int, int, int>> expected, found;
  for (int p = 1; p <= 4; p *= 2)
    for (int t = 1; t <= 8; t *= 2)
      for (int c = 1; p * t * c <= 16; c *= 2)
        for (int e = 1; e <= 12; ++e)
          if (12 % e == 0 && 16 / p % e == 0) expected.insert({16 / p / t / c, p, t, c, e});
  const auto all = [&] {
    found.clear();
    const std::vector<layout> layouts = s.layouts();
    for (const layout& l : layouts)
      found.insert({l.shape.replicas, l.shape.stages, l.shape.tensor, l.shape.context, l.shape.expert});
    EXPECT_EQ(found.size(), layouts.size());
    return found;
  };
  EXPECT_EQ(all(), expected);
  s.expert = 4;
  std::erase_if(expected, [](const auto& one) { return std::get<4>(one) != 4; });
  EXPECT_EQ(all(), expected);
  s.expert.reset(), s.experts = 0;
  for (const auto& one : all()) EXPECT_EQ(std::get<4>(one), 1);
  s.expert = 3, s.experts = 12;
  EXPECT_TRUE(all().empty()) << "no stage of 16 GPUs has a multiple of 3 ranks";
}

TEST(ShapeSpace, KeepsTensorRanksInsideANode) {
  for (const int node : {1, 2, 4, 6, 8})
    for (const layout& l : space{.gpus = 48, .gpus_per_node = node, .layers = 8, .heads = 48}.layouts())
      for (int first = 0; first < 48; first += l.shape.tensor)
        EXPECT_EQ(first / node, (first + l.shape.tensor - 1) / node) << "tp " << l.shape.tensor << ", node " << node;
}

TEST(ShapeSpace, TakesGivenDegreesAsTheyAre) {
  const space s{.gpus = 64,
                .gpus_per_node = 8,
                .layers = 32,
                .heads = 32,
                .stages = 4,
                .tensor = 16,
                .chunks = {2},
                .recompute = {costs::recompute::full}};
  const std::vector<layout> layouts = s.layouts();
  ASSERT_EQ(layouts.size(), 1u);
  EXPECT_EQ(all_of(layouts.front()), std::tuple(1, 4, 16, 1, 2, costs::recompute::full));
}

TEST(ShapeSpace, IsEmptyWhereGivenDegreesDoNotFactorTheGpus) {
  EXPECT_TRUE((space{.gpus = 64, .layers = 32, .heads = 32, .stages = 3}.layouts().empty()));
  EXPECT_TRUE((space{.gpus = 64, .layers = 32, .heads = 32, .replicas = 128}.layouts().empty()));
}

}  // namespace
}  // namespace slimpack::space_test
