#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulator/timeline.hpp>
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
  const simulator::timeline t =
      simulator::simulate(work, schedules::one_f_one_b{.lead = 1}.programs(work).value()).value();
  EXPECT_EQ(t.makespan, seconds{33});
  for (std::size_t r = 0; r < 4; ++r) EXPECT_NEAR(t.idle(r), 3.0 / 11, 1e-12);
}

TEST(Timeline, OfNothingIsNotIdle) {
  const simulator::timeline t = simulator::simulate(tests::uniform_work(2, 0, {}), std::vector<program>(2)).value();
  EXPECT_EQ(t.makespan, seconds{0});
  EXPECT_EQ(t.idle(0), 0);
}

TEST(Timeline, RunsEachProgramInOrderWithoutOverlap) {
  testing::generator random(41);
  for (int i = tests::cases(40); i > 0; --i) {
    const workload work = testing::any_replica({.longest = {32768}}, random).work;
    const std::vector<program> programs = schedules::list{}.programs(work).value();
    const simulator::timeline t = simulator::simulate(work, programs).value();
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

TEST(Timeline, PassesOnWhatIsWrongWithThePrograms) {
  EXPECT_EQ(simulator::simulate(tests::uniform_work(2, 1, {}), std::vector<program>(2)).error().code,
            errc::invalid_input);
}

}  // namespace
}  // namespace slimpack::timeline_test
