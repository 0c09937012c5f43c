#include <slimpack/schedules/hooks.hpp>

#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/graph/makespan.hpp>

#include "../simulators/workloads.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace slimpack::timed_programs_test {
namespace {

// Of two stages and one pack, F 1 s and B 2 s: both forwards, then both backwards, 1 + 1 + 2 + 2.
TEST(TimedPrograms, HaveAProgramForEachStageAndWhatTheSimulatorSaysOfThem) {
  const program both{{instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}};
  const timed_programs right{{both, both}, {6}};
  const workload work = tests::uniform_work(2, 1, {{1}, {2}});
  EXPECT_EQ(schedules::list{}.timed(work).value(), right);
  EXPECT_EQ(simulators::makespan(settled(work, right.programs), right.programs).value(), right.makespan);
}

TEST(TimedPrograms, AreEqualToTheLastBit) {
  const timed_programs one{{{{instruction_kind::forward, {0}}}}, {1}};
  timed_programs other = one;
  EXPECT_EQ(other, one);
  other.makespan.value = std::nextafter(1.0, 2.0);
  EXPECT_NE(other, one);
  other = one, other.programs[0][0].pack = {1};
  EXPECT_NE(other, one);
  other = one, other.programs.emplace_back();
  EXPECT_NE(other, one);
}

TEST(TimedPrograms, OfNothingTakeNothing) {
  const timed_programs none;
  EXPECT_TRUE(none.programs.empty());
  EXPECT_EQ(none.makespan, seconds{});
}

}  // namespace
}  // namespace slimpack::timed_programs_test
