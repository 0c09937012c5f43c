#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/timeline.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"
#include "workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace slimpack::timeline_test {
namespace {

// p = 4, m = 8: every stage works for 8 of 11 rounds, so 3/11 of the step is bubble.
TEST(Timeline, LeavesTheClosedFormIdle) {
  const workload work = tests::uniform_work(4, 8, {{1}, {2}});
  const simulators::timeline t =
      simulators::simulate(work, schedules::one_f_one_b{.lead = 1}.programs(work).value()).value();
  EXPECT_EQ(t.makespan, seconds{33});
  for (std::size_t r = 0; r < 4; ++r) EXPECT_NEAR(t.idle(r), 3.0 / 11, 1e-12);
}

TEST(Timeline, OfNothingIsNotIdle) {
  const simulators::timeline t = simulators::simulate(tests::uniform_work(2, 0, {}), std::vector<program>(2)).value();
  EXPECT_EQ(t.makespan, seconds{0});
  EXPECT_EQ(t.idle(0), 0);
}

TEST(Timeline, RunsEachProgramInOrderWithoutOverlap) {
  testing::generator random(41);
  for (int i = tests::cases(40); i > 0; --i) {
    const workload work = testing::any_replica({.longest = {32768}}, random).work;
    const std::vector<program> programs = schedules::list{}.programs(work).value();
    const simulators::timeline t = simulators::simulate(work, programs).value();
    seconds last{};
    for (std::size_t r = 0; r < programs.size(); ++r) {
      ASSERT_EQ(t.stages[r].size(), programs[r].size());
      seconds free{};
      for (std::size_t k = 0; k < programs[r].size(); ++k) {
        EXPECT_EQ(t.stages[r][k].instruction, programs[r][k]);
        EXPECT_GE(t.stages[r][k].begin, free) << "seed 41";
        free = t.stages[r][k].end;
      }
      EXPECT_GE(t.idle(r), 0);  // no stage is busier than the step is long
      last = std::max(last, free);
    }
    EXPECT_EQ(t.makespan, last);
  }
}

// What runs alone needs no graph to be timed; where a graph is made, for rows of merges or a critical path, its tasks
// run at the same times.
TEST(Timeline, HasTheTimesOfTheTaskGraph) {
  testing::generator random(42);
  for (int i = tests::cases(40); i > 0; --i) {
    const workload work = testing::any_replica({.longest = {32768}, .chunks = 3}, random).work;
    const std::vector<program> programs = schedules::one_f_one_b{}.programs(work).value();
    simulators::task_graph graph;
    graph.assign(work, programs).value();
    std::vector<seconds> start;
    const seconds makespan = graph.sweep(start);
    const simulators::timeline alone = simulators::simulate(work, programs).value();
    const simulators::timeline in_graph = simulators::lanes_of(graph, start, programs.size());
    ASSERT_EQ(alone.makespan, makespan) << "seed 42";
    ASSERT_EQ(in_graph.makespan, makespan) << "seed 42";
    for (std::size_t r = 0; r < programs.size(); ++r) {
      ASSERT_EQ(alone.stages[r].size(), in_graph.stages[r].size()) << "seed 42";
      for (std::size_t k = 0; k < programs[r].size(); ++k) {
        EXPECT_EQ(alone.stages[r][k].instruction, in_graph.stages[r][k].instruction) << "seed 42";
        EXPECT_EQ(alone.stages[r][k].begin, in_graph.stages[r][k].begin) << "seed 42";
        EXPECT_EQ(alone.stages[r][k].end, in_graph.stages[r][k].end) << "seed 42";
      }
    }
  }
}

TEST(Timeline, PassesOnWhatIsWrongWithThePrograms) {
  EXPECT_EQ(simulators::simulate(tests::uniform_work(2, 1, {}), std::vector<program>(2)).error().code,
            errc::invalid_input);
}

}  // namespace
}  // namespace slimpack::timeline_test
