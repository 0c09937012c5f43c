#include <slimpack/basic_planner.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/baselines/slimpipe.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace slimpack::slimpipe_test {
namespace {

template <class Cost>
result<plan> planned(const std::vector<tokens>& lengths, const shape& on, const Cost& cost, int slices, attention_lending lending, tokens context = {}) {
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
//  level:  F1 beside F0 of stage 1 lends 1 key of 2 queries: both take 5 s, 3-8. Then F1 on stage 1, 8-15; B0 15-22; B0 on stage 0
//          beside B1 on stage 1, both 5 s: 22-27; B1 on stage 0: 27-30
TEST(SlimPipe, TakesTheTimesWorkedOutByHand) {
  const costs::quadratic cost{.linear = 0, .attention = 1, .backward_linear = 1, .backward_attention = 1};
  const shape on{.stages = 2, .quantum = {2}};
  EXPECT_EQ(planned({{4}}, on, cost, 2, attention_lending::none).value().step_time, seconds{34});
  const plan level = planned({{4}}, on, cost, 2, attention_lending::level).value();
  EXPECT_EQ(level.step_time, seconds{30});
  EXPECT_EQ(level.replicas[0].loans.size(), 2);
  EXPECT_EQ(level.replicas[0].forward.time, (std::vector<seconds>{{3}, {5}, {5}, {7}}));
}

TEST(SlimPipe, ObeysTheLaws) {
  const costs::quadratic cost{.linear = 1e-6, .attention = 4e-9, .per_pack = {1e-5}, .hop = {2e-5}};
  for (const int stages : {2, 3, 4})
    for (const int chunks : {1, 2})
      for (const attention_lending lending : all_attention_lending) {
        const shape on{.stages = stages, .replicas = 2, .chunks = chunks, .quantum = {64}};
        const plan p = planned({{8192}, {3000}, {5000}, {100}, {8192}, {2000}, {700}, {8000}, {64}}, on, cost, 2 * stages, lending).value();
        EXPECT_EQ(laws(p, cost), "") << stages << " stages, " << chunks << " chunks, " << name_of(lending);
        std::printf("%d stages, %d chunks, %s: %.6f s, %zu loans, efficiency %.3f\n", stages, chunks, name_of(lending), p.step_time.value,
                    p.replicas[0].loans.size() + p.replicas[1].loans.size(), p.efficiency);
      }
}

}  // namespace
}  // namespace slimpack::slimpipe_test
