#include "experiment.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace slimpack::tests {
namespace {

//  1 s on stage 0 -> 2 s on stage 1 -> 4 s on stage 0     1 + 2 + 4 = 7 s
//            \--> 3 s on a wire ------^                   1 + 3 + 4 = 8 s   <- later
TEST(Experiment, RunsATaskWhenAllItWaitsForHaveEnded) {
  experiment e(2);
  const auto load = e.compute(0, {1}), forward = e.compute(1, {2}), receive = e.carry({3}),
             backward = e.compute(0, {4});
  e.order(load, forward);
  e.order(load, receive);
  e.order(forward, backward);
  e.order(receive, backward);
  EXPECT_EQ(e.ends(), (std::vector<seconds>{{1}, {3}, {4}, {8}}));
}

// 1 s and 3 s of work at half speed until the first is done: it ends at 2, the second at 4.
TEST(Experiment, SharesAStageBetweenTasksThatNoEdgeSeparates) {
  experiment e(1);
  e.compute(0, {1});
  e.compute(0, {3});
  EXPECT_EQ(e.ends(), (std::vector<seconds>{{2}, {4}}));
}

TEST(Experiment, SharesNoWire) {
  experiment e(1);
  e.carry({1});
  e.carry({3});
  EXPECT_EQ(e.ends(), (std::vector<seconds>{{1}, {3}}));
}

// 0.125 s + 1 MB / (8 MB/s) = 0.25 s, and 0.125 s + 3 MB / (8 MB/s) = 0.5 s on the same link at the same time.
TEST(Experiment, TransfersInLatencyAndBytesOverBandwidth) {
  experiment e(2);
  e.connect(0, 1, {{0.125}, 8e6});
  e.transfer(0, 1, {1e6});
  e.transfer(0, 1, {3e6});
  EXPECT_EQ(e.ends(), (std::vector<seconds>{{0.25}, {0.5}}));
}

TEST(Experiment, NeverEndsTasksThatWaitForEachOther) {
  experiment e(1);
  const auto one = e.compute(0, {1}), other = e.compute(0, {1});
  e.order(one, other);
  e.order(other, one);
  EXPECT_EQ(e.ends()[other], seconds{std::numeric_limits<double>::infinity()});
}

}  // namespace
}  // namespace slimpack::tests
