#include <slimpack/profiling/stopwatch.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace slimpack::stopwatch_test {
namespace {

using profiling::host_stopwatch;

struct tells_milliseconds {
  void start();
  float stop();
};
struct never_starts {
  seconds stop();
};
/// A device's events know nothing of a processor.
struct tells_seconds {
  void start();
  seconds stop();
};
static_assert(profiling::stopwatch<host_stopwatch>);
static_assert(profiling::stopwatch<tells_seconds>);
static_assert(!profiling::detail::tells_time<tells_milliseconds>);
static_assert(!profiling::detail::tells_time<never_starts>);

/// By another watch: no less than what it is asked to wait for.
seconds waited(std::chrono::milliseconds time) {
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(time);
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
}

// What lies between is no less than what was waited for there, and no more than what another watch around it says.
TEST(HostStopwatch, TellsTheTimeBetweenStartAndStop) {
  host_stopwatch watch;
  const auto begin = std::chrono::steady_clock::now();
  watch.start();
  const seconds least = waited(std::chrono::milliseconds(3));
  const seconds told = watch.stop().clock;
  const seconds most{std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
  EXPECT_GE(told, least);
  EXPECT_LE(told, most);
}

TEST(HostStopwatch, BeginsAnewWithEachStart) {
  host_stopwatch watch;
  watch.start();
  static_cast<void>(waited(std::chrono::milliseconds(3)));
  const auto begin = std::chrono::steady_clock::now();
  watch.start();
  const seconds told = watch.stop().clock;
  const seconds most{std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
  EXPECT_LE(told, most) << "what came before the second start is in it";
  EXPECT_GE(told, seconds{0});
}

TEST(Stopwatch, OfSecondsKnowsNoProcessor) {
  EXPECT_EQ(profiling::detail::both_clocks(seconds{2}), (call_time{{2}, {}}));
  EXPECT_EQ(profiling::detail::both_clocks(call_time{{3}, {2}}), (call_time{{3}, {2}}));
}

}  // namespace
}  // namespace slimpack::stopwatch_test
