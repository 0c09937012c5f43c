#include <slimpack/executors/measured.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace slimpack::measured_test {
namespace {

const instruction forward{.kind = instruction_kind::forward, .pack = {0}};
const instruction backward{.kind = instruction_kind::backward, .pack = {0}};

/// One stage, two replicas, each a forward of 1 s and a backward of 2 s, then a reduction of 1 s; a quarter is bubble.
plan predicted() {
  plan p;
  p.shape.replicas = 2;
  p.step_time = {4};
  p.bubble = 0.25;
  for (int r = 0; r < 2; ++r) {
    replica_plan one;
    one.times.calls[pass::forward] = {{1}};
    one.times.calls[pass::backward] = {{2}};
    one.programs = {{forward, backward}};
    p.replicas.push_back(one);
  }
  return p;
}

/// A rank that ran as predicted, but `slower` times as long.
step_report ran(double slower) {
  step_report r;
  r.timeline = {{forward, {0}, {1 * slower}}, {backward, {1 * slower}, {3 * slower}}};
  r.elapsed = {3 * slower};
  r.step = {4 * slower};
  return r;
}

std::string refusal(const std::vector<step_report>& reports) {
  const result<void> fits = executors::check_measured(predicted(), reports);
  return fits ? "" : fits.error().detail;
}

TEST(MeasuredStep, OfAllRanksIsAccepted) { EXPECT_EQ(refusal({ran(1), ran(2)}), ""); }

TEST(MeasuredStep, OfAnotherNumberOfRanksIsRefused) {
  EXPECT_NE(refusal({ran(1)}).find("each of the plan's 2 ranks, got 1"), std::string::npos) << refusal({ran(1)});
}

TEST(MeasuredStep, OfAnotherProgramIsRefused) {
  step_report longer = ran(1);
  longer.timeline.push_back({backward, {3}, {3.5}});
  EXPECT_NE(refusal({ran(1), longer}).find("stage 0 of replica 1 reports 3 instructions"), std::string::npos);
  step_report other = ran(1);
  std::swap(other.timeline[0].instruction, other.timeline[1].instruction);
  EXPECT_NE(refusal({other, ran(1)}).find("stage 0 of replica 0 reports another instruction"), std::string::npos);
}

TEST(MeasuredStep, WhoseTimesOverlapOrAreNoNumbersIsRefused) {
  for (const double begin : {0.5, 3.5, std::numeric_limits<double>::quiet_NaN()}) {
    step_report r = ran(1);
    r.timeline[1].begin = {begin};
    EXPECT_NE(refusal({ran(1), r}).find("reports instruction 1"), std::string::npos) << begin;
  }
  step_report late = ran(1);
  late.timeline[1].end = {5};
  EXPECT_NE(refusal({late, ran(1)}).find("the end of the step"), std::string::npos);
}

// As predicted: nothing is off, and the bubble is the predicted one.
// One rank twice as slow: the step is 8 s, busy 3 + 6 = 9 s of predicted 6, so the bubble is 1 - .75 x 9/6 x 4/8; half
// of the instructions are off by 0 and half by 1, and the median of an even number is their mean.
TEST(MeasuredStep, IsComparedWithItsPlan) {
  const executors::measured_figures exact = executors::figures_of(predicted(), std::vector{ran(1), ran(1)});
  EXPECT_EQ(exact.step, seconds{4});
  EXPECT_DOUBLE_EQ(exact.bubble, 0.25);
  EXPECT_EQ(exact.off, 0);
  const executors::measured_figures slow = executors::figures_of(predicted(), std::vector{ran(1), ran(2)});
  EXPECT_EQ(slow.step, seconds{8});
  EXPECT_DOUBLE_EQ(slow.bubble, 1 - .75 * (9.0 / 6) * (4.0 / 8));
  EXPECT_DOUBLE_EQ(slow.off, 0.5);
}

TEST(MeasuredStep, ItsReductionBeginsWithTheSlowestReplica) {
  EXPECT_EQ(executors::reduction_begin(predicted(), std::vector{ran(1), ran(2)}, 0), seconds{6});
}

}  // namespace
}  // namespace slimpack::measured_test
