#include <slimpack/executors/edge_values.hpp>

#include "diary.hpp"

#include <slimpack/basic_planner.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/forward.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace slimpack::edge_values_test {
namespace {

TEST(EdgeValues, AreFoundBySequenceAndTargetInWhateverOrderTheyCome) {
  edge_values all;
  const std::vector<float> later{-.5f, -.1f}, first{-2, -3, -4};
  all.add({3}, {4}, std::span(later));
  all.add({1}, {7}, -9.5);
  all.add({3}, {1}, std::span(first));
  ASSERT_TRUE(all.close());
  ASSERT_EQ(all.all().size(), 6u);
  EXPECT_EQ(all.at({3}, {1}), -2.0);
  EXPECT_EQ(all.at({3}, {5}), double{-.1f}) << "a float stays as it is";
  EXPECT_EQ(all.at({1}, {7}), -9.5);
  EXPECT_EQ(all.at({1}, {6}), std::nullopt);
  EXPECT_EQ(all.at({2}, {7}), std::nullopt);
  // Those that leave tokens [2, 4).
  const std::span<const edge_value> two = all.from({3}, {2}, {4});
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].target, tokens{3});
  EXPECT_EQ(two[1].target, tokens{4});
  EXPECT_TRUE(all.from({3}, {5}, {9}).empty());
  EXPECT_EQ(all.from({1}, {0}, {7}).size(), 1u);
}

TEST(EdgeValues, HaveOneForEachEdge) {
  edge_values all, more;
  all.add({0}, {1}, -1);
  all.add({0}, {2}, -1);
  more.add({0}, {1}, -1);
  all.add(more);
  const result<void> closed = all.close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, errc::compute_failed);
  EXPECT_EQ(closed.error().detail, "the edge to token 1 of sequence 0 has two log-probabilities");
}

TEST(EdgeValues, AreThoseOfAStepOnlyByItsPlan) {
  const plan step = tests::small_plan(), other = tests::small_plan({.stages = 2, .quantum = {4}});
  const edge_values by_step(step);
  const result<const edge_values*> same = by_step.of_step(step);
  ASSERT_TRUE(same);
  EXPECT_EQ(same.value(), &by_step);

  const result<const edge_values*> wrong = by_step.of_step(other);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, errc::invalid_input);
  EXPECT_EQ(wrong.error().detail, "the log-probabilities were computed by plan " + hash_text(hash_of(step)) +
                                      ", the step's is plan " + hash_text(hash_of(other)) +
                                      ", so their last bits are not the step's: evaluate by the plan of the step");

  const basic_planner plan_batch{step.shape,           slicers::equal_cost{}, costs::quadratic{},
                                 solvers::two_phase{}, schedules::list{},     simulators::sweep{}};
  const edge_values by_forward_plan(plan_batch.plan_forward(step.lengths).value());
  const result<const edge_values*> forward = by_forward_plan.of_step(step);
  ASSERT_FALSE(forward);
  EXPECT_EQ(forward.error().detail,
            "the log-probabilities were computed by a plan of plan_forward, which has other packs, so their last bits "
            "are not the step's: evaluate by the plan of the step");

  const edge_values none;
  const result<const edge_values*> missing = none.of_step(step);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().detail,
            "there are no log-probabilities: the compute does not offer them (executors/hooks.hpp)");
}

}  // namespace
}  // namespace slimpack::edge_values_test
