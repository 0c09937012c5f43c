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

// What another search planned takes its place among the others, with its plans where it leads.
TEST(Ranking, TakesInWhatAnotherSearchFound) {
  const auto found = [](std::vector<double> steps, std::vector<outcome> others) {
    ranking made;
    for (const double step : steps)
      made.candidates.push_back({.outcome = outcome::planned, .step_time = {step}, .useful = step});
    for (const outcome o : others) made.candidates.emplace_back().outcome = o;
    if (!steps.empty()) made.plans.emplace_back().step_time = {steps.front()};
    return made;
  };
  ranking one = found({2, 5}, {outcome::bounded});
  one.add(found({3, 4}, {outcome::slower}));
  EXPECT_EQ(one.plans.front().step_time, seconds{2});
  one.add(found({1}, {}));
  EXPECT_EQ(one.plans.front().step_time, seconds{1});
  std::vector<double> steps;
  for (std::size_t i = 0; i < one.count(outcome::planned); ++i) steps.push_back(one.candidates[i].step_time.value);
  EXPECT_EQ(steps, (std::vector<double>{1, 2, 3, 4, 5}));
  EXPECT_EQ(one.candidates[5].outcome, outcome::slower);
  EXPECT_EQ(one.candidates[6].outcome, outcome::bounded);
  ranking none;
  none.add(found({}, {outcome::refused}));
  EXPECT_EQ(none.best(), nullptr);
  none.add(found({7}, {}));
  EXPECT_EQ(none.plans.front().step_time, seconds{7});
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
