#include <slimpack/service/deadline.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <stop_token>
#include <thread>

namespace slimpack::deadline_test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

void wait_for(const std::stop_token& token) {
  while (!token.stop_requested()) std::this_thread::yield();
}

TEST(Deadline, AsksToStopOnceItsTimeIsOver) {
  const auto begin = clock::now();
  const deadline limit{20ms};
  EXPECT_TRUE(limit.token().stop_possible());
  wait_for(limit.token());
  EXPECT_GE(clock::now() - begin, 20ms);
}

TEST(Deadline, IsOverAtOnceWhereNoTimeIsGiven) {
  for (const auto none : {0ms, -5ms, std::chrono::milliseconds::min()}) wait_for(deadline{none}.token());
}

TEST(Deadline, StopsNothingWhenDestroyedEarly) {
  std::stop_token token;
  const auto begin = clock::now();
  {
    const deadline limit{1h};
    token = limit.token();
  }
  EXPECT_LT(clock::now() - begin, 30min);
  EXPECT_FALSE(token.stop_requested());
}

TEST(Deadline, TakesTheLongestTimes) {
  const deadline hours{std::chrono::hours::max()};
  const deadline endless{std::chrono::duration<double>{std::numeric_limits<double>::infinity()}};
  std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(hours.token().stop_requested());
  EXPECT_FALSE(endless.token().stop_requested());
}

}  // namespace
}  // namespace slimpack::deadline_test
