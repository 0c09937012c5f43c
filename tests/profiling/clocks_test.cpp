#include <slimpack/profiling/clocks.hpp>

#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::clocks_test {
namespace {

using profiling::choose_clocks;
using profiling::clocks;
using profiling::observation;

observation seen(pass p, int part, double time, double processor) {
  return {p, part, false, {{{0}, {0}, {8}}}, {time}, {processor}};
}

// Forwards never wait, backwards always do, as where tensor ranks sum gradients alone.
TEST(Clocks, AreChosenForEachPassOfAPart) {
  std::vector<observation> all{seen(pass::forward, 0, 3, 2), seen(pass::backward, 0, 4, 0),
                               seen(pass::forward, 1, 5, 0), seen(pass::forward, 0, 4, 3)};
  EXPECT_EQ(choose_clocks(all), (clocks{2, 2, 0, 7.0 / 5}));
  EXPECT_EQ(all, (std::vector<observation>{seen(pass::forward, 0, 2, 2), seen(pass::backward, 0, 4, 0),
                                           seen(pass::forward, 1, 5, 0), seen(pass::forward, 0, 3, 3)}));
}

// A lock of the system's holds up one pack or another; a collective of the compute's, all of them.
TEST(Clocks, LeaveOutPacksThatWaitedWhereHalfDidNot) {
  for (std::size_t waited = 0; waited <= 10; ++waited) {
    std::vector<observation> all(10, seen(pass::backward, 2, 6, 4));
    for (std::size_t i = 0; i < waited; ++i) all[i].processor = {};
    const std::vector<observation> as_told = all;
    const clocks by = choose_clocks(all);
    if (waited > 5) {
      EXPECT_EQ(by, (clocks{0, 10, 0, 1}));
      EXPECT_EQ(all, as_told);
    } else {
      EXPECT_EQ(by, (clocks{10 - waited, 0, waited, 1.5}));
      EXPECT_EQ(all, std::vector<observation>(10 - waited, seen(pass::backward, 2, 4, 4)));
    }
  }
}

TEST(Clocks, OfNothingAreNone) {
  std::vector<observation> none;
  EXPECT_EQ(choose_clocks(none), clocks{});
}

// Beside other work that has the processors for a part of the time, times come out as on an idle machine.
TEST(Clocks, TellTimesOfAnIdleMachine) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    testing::generator random(seed);
    std::vector<observation> idle, busy;
    double by_clock = 0, by_processor = 0;
    for (int n = 0; n < 60; ++n) {
      const double time = 1e-3 * static_cast<double>(random.between(1, 1000)),
                   held_up = time * (1 + 1e-3 * static_cast<double>(random.between(0, 900)));
      const pass p = random.between(0, 1) == 0 ? pass::forward : pass::backward;
      const int part = static_cast<int>(random.between(0, 3));
      idle.push_back(seen(p, part, time, time)), busy.push_back(seen(p, part, held_up, time));
      by_clock += held_up, by_processor += time;
    }
    const clocks by = choose_clocks(busy);
    EXPECT_EQ(busy, idle) << "seed " << seed;
    EXPECT_NEAR(by.clock_over_processor, by_clock / by_processor, 1e-12) << "seed " << seed;
    EXPECT_EQ(by.by_processor, idle.size());
  }
}

}  // namespace
}  // namespace slimpack::clocks_test
