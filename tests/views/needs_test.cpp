#include <slimpack/core/forest/forest.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/costs/with_vocabulary.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/views/needs.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::needs_test {
namespace {

/// How often each stage needs a token of a sequence, by use.
using counts = std::map<std::tuple<std::uint32_t, token_use, std::int64_t>, int>;

/// The places of a sequence's targets on its path: those that the plan names, or each token but the first, and the one
/// behind.
std::vector<std::int64_t> targets_of(const plan& p, std::uint32_t s, tokens begin) {
  std::vector<std::int64_t> found;
  for (std::int64_t t = begin.value + 1; t <= begin.value + p.lengths[s].value && p.targets.empty(); ++t)
    found.push_back(t);
  for (const target_run& run : p.targets)
    for (std::int64_t t = 0; t < run.length.value && run.sequence.value == s; ++t) found.push_back(run.begin.value + t);
  return found;
}

/// What is needed stands in order of instructions, and these read it: forward, on the part or by the call at that end.
/// A target is needed by the instruction that runs the token before it.
void check(const plan& p) {
  const bool spread = p.shape.vocabulary == vocabulary::spread;
  const auto stages = static_cast<std::size_t>(p.shape.stages);
  const std::vector<sequence> all = batch_of(p).sequences();
  std::vector<std::map<std::uint32_t, counts>> found(p.lengths.size());  // by stage
  for (std::size_t r = 0; r < p.replicas.size(); ++r) {
    for (std::size_t stage = 0; stage < stages; ++stage) {
      std::size_t last = 0;
      for (const need_view& need : views::needs(p, r, stage)) {
        ASSERT_EQ(need.replica, r);
        ASSERT_EQ(need.stage, stage);
        ASSERT_GE(need.instruction, last);
        last = need.instruction;
        const instruction& i = p.replicas[r].programs[stage][last];
        const bool inputs = need.use == token_use::inputs;
        ASSERT_EQ(letter_of(i), spread ? (inputs ? 'E' : 'V') : 'F');
        if (!spread) {
          ASSERT_EQ(stage, inputs ? 0 : stages - 1);
          ASSERT_EQ(i.chunk, inputs ? 0u : static_cast<std::uint32_t>(p.shape.chunks) - 1);
        }
        ASSERT_GT(need.tokens.length, tokens{0});
        const sequence& of = all[need.tokens.sequence.value];
        const sequence_id source = need.tokens.begin == of.begin && !inputs ? of.parent : of.id;
        const auto has_sources = [&](const slice& s) {
          const tokens back{inputs ? 0 : 1};
          return s.sequence == source && s.begin <= need.tokens.begin - back && need.tokens.end() - back <= s.end();
        };
        const std::span<const slice> run = p.replicas[r].partition.forward[i.pack.value];
        ASSERT_TRUE(std::any_of(run.begin(), run.end(), has_sources));
        for (std::int64_t t = need.tokens.begin.value; t < need.tokens.end().value; ++t)
          ++found[need.tokens.sequence.value][static_cast<std::uint32_t>(stage)][{0, need.use, t}];
      }
    }
  }
  for (std::size_t s = 0; s < p.lengths.size(); ++s) {
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      counts expected;
      for (std::int64_t t = 0; t < p.lengths[s].value && (spread || stage == 0); ++t)
        expected[{0, token_use::inputs, all[s].begin.value + t}] = 1;
      if (spread || stage + 1 == stages)
        for (const std::int64_t t : targets_of(p, static_cast<std::uint32_t>(s), all[s].begin))
          expected[{0, token_use::targets, t}] = 1;
      EXPECT_TRUE(found[s][stage] == expected) << "sequence " << s << " on stage " << stage;
    }
  }
}

const costs::quadratic dear{.linear = 1e-6, .attention = 4e-9, .per_pack = {6e-5}, .hop = {2e-5}};

TEST(Needs, AreEachTokenOnceAsInputAndOnceAsTarget) {
  int shared = 0, chunked = 0;
  for (std::uint64_t seed = 1; seed <= 30 / tests::one_in && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::generator random(seed);
    shape on{.stages = static_cast<int>(random.between(1, 4)),
             .replicas = static_cast<int>(random.between(1, 3)),
             .quantum = {16}};
    on.chunks = static_cast<int>(random.between(1, 2));
    std::vector<tokens> lengths{{random.between(2000, 4000)}};
    for (std::int64_t n = random.between(0, 8); n > 0; --n) lengths.push_back({random.between(1, 300)});
    const plan p =
        planner{on, slicers::equal_cost{}, dear, solvers::two_phase{.effort = solvers::search_budget::fast()}}(lengths)
            .value();
    shared += p.merges.empty() ? 0 : 1, chunked += on.chunks > 1;
    check(p);
  }
  EXPECT_GT(shared, 5 / tests::one_in);
  EXPECT_GT(chunked, 5 / tests::one_in);
}

// Where samples part, the last token before has a target in each sequence behind.
TEST(Needs, AreTheTargetsOfSamplesThatShareBeginnings) {
  int firsts = 0, inner = 0, none = 0;
  for (std::uint64_t seed = 1; seed <= 40 / tests::one_in && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::generator random(seed);
    shape on{.stages = static_cast<int>(random.between(1, 3)), .quantum = {16}};
    on.chunks = static_cast<int>(random.between(1, 2));
    forest batch = testing::trial_forest(random, random.between(1, 12), {300});
    if (random.once_in(5)) batch.targets.clear();
    const plan p =
        planner{on, slicers::equal_cost{}, dear, solvers::two_phase{.effort = solvers::search_budget::fast()}}(batch)
            .value();
    check(p);
    for (const target_run& t : p.targets)
      ++(t.begin == batch_of(p).sequences()[t.sequence.value].begin ? firsts : inner);
    none += p.targets.empty();
  }
  EXPECT_GT(firsts, 10 / tests::one_in);
  EXPECT_GT(inner, 10 / tests::one_in);
  EXPECT_GT(none, 2 / tests::one_in);
}

// A question of 4 tokens with two answers, the second of which is not trained on at its beginning.
TEST(Needs, OfAForkAreTheFirstTokensBehindIt) {
  const forest batch{.lengths = {{4}, {3}, {3}},
                     .parents = {no_parent, {0}, {0}},
                     .samples = {{{1}, {7}}, {{2}, {7}}},
                     .targets = {{{0}, {2}, {1}}, {{1}, {4}, {3}}, {{2}, {5}, {2}}}};
  const plan p = planner{shape{.quantum = {4}}, slicers::equal_cost{}, dear}(batch).value();
  std::vector<slice> found;
  for (const need_view& need : views::needs(p, 0, 0))
    if (need.use == token_use::targets) found.push_back(need.tokens);
  std::sort(found.begin(), found.end(), [](const slice& a, const slice& b) {
    return std::pair(a.sequence, a.begin) < std::pair(b.sequence, b.begin);
  });
  EXPECT_EQ(found, (std::vector<slice>{{{0}, {2}, {1}}, {{1}, {4}, {1}}, {{1}, {5}, {2}}, {{2}, {5}, {2}}}));
}

TEST(Needs, AreOnEveryStageWhereTheVocabularyIsSpread) {
  for (int stages = 3; stages >= 2; --stages) {
    if (!tests::is_tried(3 - stages)) continue;
    shape on{.stages = stages, .replicas = 2, .quantum = {16}};
    on.vocabulary = vocabulary::spread;
    const costs::with_vocabulary<costs::quadratic> cost{costs::quadratic{.linear = 1e-6, .attention = 4e-9},
                                                        {.output = {.call = 1e-5, .token = 2e-7}}};
    check(planner{on, slicers::equal_cost{}, cost}(std::vector<tokens>{{900}, {40}, {260}, {1}}).value());
  }
}

}  // namespace
}  // namespace slimpack::needs_test
