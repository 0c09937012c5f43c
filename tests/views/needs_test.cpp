#include <slimpack/costs/quadratic.hpp>
#include <slimpack/costs/with_vocabulary.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/views/needs.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace slimpack::needs_test {
namespace {

/// How often each stage needs a token of a sequence, by use.
using counts = std::map<std::tuple<std::uint32_t, token_use, std::int64_t>, int>;

/// What is needed stands in order of instructions, and these read it: forward, on the part or by the call at that end.
void check(const plan& p) {
  const bool spread = p.shape.vocabulary == vocabulary::spread;
  const auto stages = static_cast<std::size_t>(p.shape.stages);
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
        for (std::int64_t t = need.tokens.begin.value; t < need.tokens.end().value; ++t)
          ++found[need.tokens.sequence.value][static_cast<std::uint32_t>(stage)][{0, need.use, t}];
      }
    }
  }
  for (std::size_t s = 0; s < p.lengths.size(); ++s) {
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      counts expected;
      for (std::int64_t t = 0; t < p.lengths[s].value; ++t) {
        if (spread || stage == 0) expected[{0, token_use::inputs, t}] = 1;
        if (spread || stage + 1 == stages) expected[{0, token_use::targets, t + 1}] = 1;
      }
      EXPECT_TRUE(found[s][stage] == expected) << "sequence " << s << " on stage " << stage;
    }
  }
}

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
    const costs::quadratic cost{.linear = 1e-6, .attention = 4e-9, .per_pack = {6e-5}, .hop = {2e-5}};
    const plan p =
        planner{on, slicers::equal_cost{}, cost, solvers::two_phase{.effort = solvers::search_budget::fast()}}(lengths)
            .value();
    shared += p.merges.empty() ? 0 : 1, chunked += on.chunks > 1;
    check(p);
  }
  EXPECT_GT(shared, 5 / tests::one_in);
  EXPECT_GT(chunked, 5 / tests::one_in);
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
