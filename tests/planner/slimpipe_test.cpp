#include <slimpack/basic_planner.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/costs/with_vocabulary.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/baselines/slimpipe.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace slimpack::slimpipe_test {
namespace {

template <class Cost>
result<plan> planned(const std::vector<tokens>& lengths, const shape& on, const Cost& cost, int slices,
                     attention_lending lending, tokens context = {}) {
  const auto recipe = baselines::slimpipe(on, context, slices, lending);
  const basic_planner plan_batch{on, recipe.slicer, cost, recipe.solver, recipe.schedule, simulators::sweep{}};
  return plan_batch(lengths);
}

std::string laws(const auto&... given) {
  std::ostringstream text;
  const testing::report r = testing::plan_laws(given...);
  if (!r) text << r;
  return text.str();
}

//  Attention alone, 1 s a pair forward and backward, on 2 stages with rows of 2 slices of 2 tokens: pairs 3 and 7.
//  none:   F0 F1 on stage 0: 0-3, 3-10; on stage 1: 3-6, 10-17; B0 (slice 1) 17-24, 24-31; B1 24-27, 31-34: 34 s
//  level:  F1 beside F0 of stage 1 lends 1 key of 2 queries: both take 5 s, 3-8. Then F1 on stage 1, 8-15; B0 15-22; B0
//          on stage 0 beside B1 on stage 1, both 5 s: 22-27; B1 on stage 0: 27-30
TEST(SlimPipe, TakesTheTimesWorkedOutByHand) {
  const costs::quadratic cost{.linear = 0, .attention = 1, .backward_linear = 1, .backward_attention = 1};
  const shape on{.stages = 2, .quantum = {2}};
  EXPECT_EQ(planned({{4}}, on, cost, 2, attention_lending::none).value().step_time, seconds{34});
  const plan level = planned({{4}}, on, cost, 2, attention_lending::level).value();
  EXPECT_EQ(level.step_time, seconds{30});
  EXPECT_EQ(level.replicas[0].loans.size(), 2);
  EXPECT_EQ(level.replicas[0].times.calls[pass::forward], (std::vector<seconds>{{3}, {5}, {5}, {7}}));
}

TEST(SlimPipe, ObeysTheLaws) {
  const costs::quadratic cost{.linear = 1e-6, .attention = 4e-9, .per_pack = {1e-5}, .hop = {2e-5}};
  for (const int stages : {2, 3, 4})
    for (const int chunks : {1, 2})
      for (const attention_lending lending : all_attention_lending) {
        const shape on{.stages = stages, .replicas = 2, .chunks = chunks, .quantum = {64}};
        const plan p =
            planned({{8192}, {3000}, {5000}, {100}, {8192}, {2000}, {700}, {8000}, {64}}, on, cost, 2 * stages, lending)
                .value();
        EXPECT_EQ(laws(p, cost), "") << stages << " stages, " << chunks << " chunks, " << name_of(lending);
        std::printf("%d stages, %d chunks, %s: %.6f s, %zu loans, efficiency %.3f\n", stages, chunks, name_of(lending),
                    p.step_time.value, p.replicas[0].loans.size() + p.replicas[1].loans.size(), p.efficiency);
      }
}

// Calls of a spread vocabulary run in lock step, so that stages that lend do not wait for each other; whatever calls
// and messages take.
TEST(SlimPipe, ObeysTheLawsWhereTheVocabularyIsSpread) {
  int plans = 0, k = 0;
  for (const int stages : {2, 3, 4})
    for (const int chunks : {1, 2})
      for (const double call : {1e-6, 1e-3})
        for (const attention_lending lending : all_attention_lending) {
          if (!tests::is_tried(k++)) continue;
          const costs::vocabulary_rate rate{call, call * 1e-3};
          const costs::with_vocabulary cost(
              costs::quadratic{.linear = 1e-6, .attention = 4e-9, .per_pack = {1e-5}, .hop = {2e-5}},
              costs::vocabulary_rates{rate, rate, rate, rate, rate, rate, rate, rate, rate});
          const shape on{
              .stages = stages, .replicas = 2, .chunks = chunks, .quantum = {64}, .vocabulary = vocabulary::spread};
          const result<plan> made = planned({{8192}, {3000}, {5000}, {100}, {8192}, {2000}, {700}, {8000}, {64}}, on,
                                            cost, 2 * stages, lending);
          ASSERT_TRUE(made) << made.error().detail;
          EXPECT_EQ(laws(made.value(), cost), "") << stages << " stages, " << chunks << " chunks, " << name_of(lending);
          ++plans;
        }
  std::printf("%d plans\n", plans);
}

// What lends must have equal layers, and enough tokens for its slices.
struct uneven : costs::quadratic {
  [[nodiscard]] loan_messages lending(const loan&, int part) const noexcept {
    return {part == 1 ? 9.0 : 8.0, {}, {}, {}};
  }
};
struct bordered : costs::quadratic {
  [[nodiscard]] bool has_borders() const noexcept { return true; }
};
TEST(SlimPipe, RefusesWhatCannotLend) {
  const shape on{.stages = 2, .quantum = {64}};
  EXPECT_EQ(
      planned({{4096}}, on, bordered{}, 4, attention_lending::level).error().detail,
      "lending level has no price where layers attend inside chunks of a sequence, as those of this cost model do: "
      "choose lending none");
  EXPECT_TRUE(planned({{4096}}, on, bordered{}, 4, attention_lending::none));
  EXPECT_EQ(planned({{4096}}, on, uneven{}, 4, attention_lending::level).error().detail,
            "lending level needs equal layers on every part, and part 1 has 9 where part 0 has 8: choose as many "
            "layers on each, or lending none");
  EXPECT_TRUE(planned({{4096}}, on, uneven{}, 4, attention_lending::none));
  EXPECT_EQ(planned({{128}}, on, costs::quadratic{}, 4, attention_lending::level).error().detail,
            "a row of 128 tokens has no 4 slices of a quantum of 64: choose fewer slices, a smaller quantum or a "
            "longer context");
  EXPECT_EQ(planned({{4096}}, {.stages = 1}, costs::quadratic{}, 4, attention_lending::level).error().detail,
            "lending level needs 2 stages or more, and there is 1: choose more stages, or lending none");
}

}  // namespace
}  // namespace slimpack::slimpipe_test
