#include <slimpack/costs/quadratic.hpp>
#include <slimpack/solvers/milp/instance.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace slimpack::milp_instance_test {
namespace {

using detail::milp_instance;

const shape three_stages{.stages = 3, .quantum = {512}};
const std::vector<sequence> two{{{0}, {1000}}, {{1}, {512}}};

template <class Cost>
milp_instance made_for(const Cost& cost, const shape& on = three_stages) {
  return detail::instance_of(two, on, cost, rates_of(cost, on).value());
}

TEST(MilpInstance, CutsAtTheQuantum) {
  const milp_instance made = made_for(costs::quadratic{});
  ASSERT_EQ(made.atoms.size(), 3u);  // 1000 = 512 + 488, and 512
  EXPECT_EQ(made.atoms[0].run, (slice{{0}, {0}, {512}}));
  EXPECT_FALSE(made.atoms[0].last);
  EXPECT_EQ(made.atoms[1].run, (slice{{0}, {512}, {488}}));
  EXPECT_TRUE(made.atoms[1].last);
  EXPECT_EQ(made.atoms[2].run, (slice{{1}, {0}, {512}}));
  EXPECT_TRUE(made.atoms[2].last);
  EXPECT_EQ(milp_instance::count({1000}, {512}), 2u);
  EXPECT_EQ(milp_instance::count({512}, {512}), 1u);
  EXPECT_EQ(made.limit, std::numeric_limits<double>::infinity());
}

TEST(MilpInstance, HasTheLimitOfTheShape) {
  shape on = three_stages;
  on.memory = memory_limit{memory_unit::token, 2000};
  EXPECT_EQ(made_for(costs::quadratic{}, on).limit, 2000);
}

TEST(MilpInstance, TakesTimesAndOverheadsOfEachStage) {
  struct : costs::quadratic {
    seconds time(const slice& s, pass p, int part) const { return quadratic::time(s, p, part) * (1 + part); }
  } cost;
  cost.per_pack = {6.4e-5};
  const milp_instance made = made_for(cost);
  for (const pass p : {pass::forward, pass::backward})
    for (std::size_t stage = 0; stage < 3; ++stage) {
      for (std::size_t a = 0; a < made.atoms.size(); ++a)
        EXPECT_EQ(made.time(a, stage, p), cost.time(made.atoms[a].run, p, static_cast<int>(stage)).value);
      EXPECT_EQ(made.of(p).overhead[stage], 6.4e-5);
    }
}

TEST(MilpInstance, SendsNothingBeyondTheEndsOfThePipeline) {
  const milp_instance made = made_for(costs::quadratic{.hop = {2.4e-5}});
  EXPECT_EQ(made.of(pass::forward).message, (std::vector<double>{2.4e-5, 2.4e-5, 0}));
  EXPECT_EQ(made.of(pass::backward).message, (std::vector<double>{0, 2.4e-5, 2.4e-5}));
}

// 1e-5 s and 2e-7 s a token lie on one line.
TEST(MilpInstance, SplitsMessagesOnALineIntoAFixedTimeAndOneByTheToken) {
  struct : costs::quadratic {
    seconds message(tokens size, pass, int) const { return {1e-5 + 2e-7 * static_cast<double>(size.value)}; }
  } cost;
  const milp_instance made = made_for(cost);
  EXPECT_NEAR(made.of(pass::forward).message[0], 1e-5, 1e-14);
  EXPECT_NEAR(made.of(pass::forward).message_token[0], 2e-7, 1e-16);
  EXPECT_EQ(made.of(pass::forward).message_token[2], 0);
}

TEST(MilpInstance, TakesTheLeastMessageWhereTimesAreOnNoLine) {
  struct : costs::quadratic {
    seconds message(tokens size, pass, int) const { return {1e-6 * std::sqrt(static_cast<double>(size.value))}; }
  } cost;
  const milp_instance made = made_for(cost);
  EXPECT_EQ(made.of(pass::forward).message_token[0], 0);
  EXPECT_EQ(made.of(pass::forward).message[0], 1e-6 * std::sqrt(488.0));  // a lower bound of every message
}

}  // namespace
}  // namespace slimpack::milp_instance_test
