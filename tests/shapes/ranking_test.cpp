#include <slimpack/shapes/ranking.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace slimpack::ranking_test {
namespace {

using shapes::outcome;
using shapes::ranking;

ranking of(const std::vector<outcome>& outcomes) {
  ranking found;
  for (const outcome o : outcomes) found.candidates.emplace_back().outcome = o;
  return found;
}

TEST(Ranking, CountsByOutcome) {
  const ranking found =
      of({outcome::planned, outcome::planned, outcome::bounded, outcome::refused, outcome::bounded, outcome::planned});
  EXPECT_EQ(found.count(outcome::planned), 3u);
  EXPECT_EQ(found.count(outcome::bounded), 2u);
  EXPECT_EQ(found.count(outcome::too_large), 0u);
}

TEST(Ranking, HasTheFirstAsItsBestWhereAnyWasPlanned) {
  const ranking found = of({outcome::planned, outcome::planned, outcome::bounded});
  EXPECT_EQ(found.best(), &found.candidates.front());
}

TEST(Ranking, HasNoBestWhereNothingWasPlanned) {
  EXPECT_EQ(of({}).best(), nullptr);
  EXPECT_EQ(of({outcome::too_large, outcome::bounded, outcome::untried}).best(), nullptr);
}

// 4096 tokens in half a second on 2 x 4 GPUs.
TEST(Ranking, GivesTokensASecondAndGpu) {
  ranking found = of({outcome::planned});
  found.batch_tokens = 4096;
  found.candidates[0].step_time = {0.5};
  found.candidates[0].layout.shape = {.stages = 2, .tensor = 4};
  EXPECT_EQ(found.rate(*found.best()), 1024);
}

}  // namespace
}  // namespace slimpack::ranking_test
