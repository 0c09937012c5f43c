#include <slimpack/profiling/detail/kind_times.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace slimpack::kind_times_test {
namespace {

using profiling::observation;
using profiling::detail::kind_times;
using profiling::detail::slowest_of;

observation seen(std::int64_t length, double time, double processor = 0, pass p = pass::forward) {
  return {p, 0, false, {{{0}, {0}, {length}}}, {time}, {processor}};
}

TEST(KindTimes, AreMediansOfEachClock) {
  kind_times all;
  for (const double t : {5.0, 1.0, 3.0}) all.add(seen(8, t, t / 2));
  for (const double t : {2.0, 4.0}) all.add(seen(9, t));
  EXPECT_EQ(all.medians(), (std::vector<observation>{seen(8, 3, 1.5), seen(9, 3)}));
}

// Two of three know the processor's time: it is known, of those. Two of four are no majority.
TEST(KindTimes, KnowTheProcessorsTimeWhereMostPacksDo) {
  kind_times all;
  all.add(seen(8, 4, 3)), all.add(seen(8, 6, 5)), all.add(seen(8, 9));
  EXPECT_EQ(all.medians(), std::vector<observation>{seen(8, 6, 4)});
  all.add(seen(8, 9));
  EXPECT_EQ(all.medians(), std::vector<observation>{seen(8, 7.5)});
}

// The quartiles of 1, 2, ..., 9 are 3 and 7, their median 5.
TEST(KindTimes, TellTheErrorOfTheWorstKind) {
  kind_times all;
  for (int n = 1; n <= 9; ++n) all.add(seen(8, n)), all.add(seen(9, 1));
  EXPECT_DOUBLE_EQ(all.error(), 0.93 * 4 / (3 * 5));
  for (int n = 0; n < 4; ++n) all.add(seen(10, 1));
  EXPECT_EQ(all.error(), std::numeric_limits<double>::infinity());
  all.add(seen(10, 1));
  EXPECT_DOUBLE_EQ(all.error(), 0.93 * 4 / (3 * 5));
}

// Beside other work the clock's times differ, and the processor's do not.
TEST(KindTimes, TellTheErrorOfTheClockThatIsKnownBest) {
  kind_times all;
  for (int n = 1; n <= 9; ++n) all.add(seen(8, n, 0.5));
  EXPECT_EQ(all.error(), 0);
}

TEST(SlowestOf, TakesTheLargestTimesOfRanksThatMakeTheSameCalls) {
  const std::vector<observation> a{seen(8, 3, 2), seen(9, 1, 1)}, b{seen(8, 2, 2.5), seen(9, 4)};
  const std::vector<const std::vector<observation>*> both{&a, &b};
  EXPECT_EQ(slowest_of(both), (std::vector<observation>{seen(8, 3, 2.5), seen(9, 4)}));
  EXPECT_TRUE(slowest_of({}).empty());
}

}  // namespace
}  // namespace slimpack::kind_times_test
