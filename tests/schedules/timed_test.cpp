#include <slimpack/schedules/hooks.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/timed.hpp>

#include "../simulators/workloads.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace slimpack::timed_test {
namespace {

// (m + p - 1)(f + b) = (8 + 3 - 1) * 3
TEST(TimedSchedule, AsksTheTaskGraphOfAScheduleThatKnowsNoTimes) {
  const workload work = tests::uniform_work(3, 8, {{1}, {2}});
  const timed_programs found = schedules::timed(schedules::one_f_one_b{}, work).value();
  EXPECT_EQ(found.programs, schedules::one_f_one_b{}.programs(work).value());
  EXPECT_EQ(found.makespan, seconds{30});
}

TEST(TimedSchedule, BelievesAScheduleThatKnows) {
  const workload work = tests::uniform_work(3, 8, {{1}, {2}});
  EXPECT_EQ(schedules::timed(schedules::list{}, work).value(), schedules::list{}.timed(work).value());
}

struct stuck {
  [[nodiscard]] result<std::vector<program>> programs(const workload& work) const {
    return std::vector<program>(static_cast<std::size_t>(work.shape.stages));
  }
};

TEST(TimedSchedule, SaysWhatTheTaskGraphRefuses) {
  EXPECT_EQ(schedules::timed(stuck{}, tests::uniform_work(3, 8, {})).error().code, errc::invalid_input);
}

TEST(TimedSchedule, SaysWhatTheScheduleRefuses) {
  const result<timed_programs> refused = schedules::timed(schedules::list{.passes = 0}, tests::uniform_work(2, 2, {}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_input);
}

}  // namespace
}  // namespace slimpack::timed_test
