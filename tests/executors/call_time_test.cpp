#include <slimpack/executors/call_time.hpp>

#include "everywhere.hpp"
#include "prefix_model.hpp"

#include <slimpack/executors/packflow.hpp>
#include <slimpack/profiling/trials.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>

namespace slimpack::call_time_test {
namespace {

using namespace std::chrono_literals;

/// Keeps the thread's processor for so long by its own time.
void work(std::chrono::duration<double> time) {
  std::timespec begin{}, now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while (static_cast<double>(now.tv_sec - begin.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec - begin.tv_nsec) <
         time.count());
}

template <class Call>
call_time timed(call_watch watch, const Call& call) {
  watch.start();
  call();
  return watch.stop();
}

TEST(CallWatch, TellsWhatACallThatComputesHadOfItsProcessor) {
  const call_time took = timed({}, [] { work(20ms); });
  EXPECT_GE(took.processor, seconds{0.02});
  EXPECT_LT(took.processor, took.clock * 1.01 + seconds{1e-4});  // the clocks' own steps
}

TEST(CallWatch, SeesThatACallWaits) {
  const call_time slept = timed({}, [] { std::this_thread::sleep_for(5ms); });
  EXPECT_GE(slept.clock, seconds{0.005});
  EXPECT_EQ(slept.processor, seconds{});
  const call_time helped = timed({}, [] { std::thread([] { work(20ms); }).join(); });
  EXPECT_GE(helped.clock, seconds{0.02});
  EXPECT_EQ(helped.processor, seconds{});
}

TEST(CallWatch, BelievesWhatIsSaidOfCalls) {
  EXPECT_EQ(timed(call_watch(true), [] { work(2ms); }).processor, seconds{});
  const call_time slept = timed(call_watch(false), [] {
    work(2ms);
    std::this_thread::sleep_for(5ms);
  });
  EXPECT_GE(slept.processor, seconds{0.002});
  EXPECT_GE(slept.clock - slept.processor, seconds{0.004});
}

TEST(CallWatch, BeginsAnewWithEachStart) {
  call_watch watch;
  watch.start();
  work(20ms);
  const call_time second = timed(watch, [] { work(1ms); });
  EXPECT_GE(second.processor, seconds{0.001});
  EXPECT_LT(second.processor, seconds{0.02});
}

// Two threads that compute on one processor: each has it for a half of the time, and neither waits.
TEST(CallWatch, CountsNoTimeThatAnotherThreadHadTheProcessor) {
  cpu_set_t allowed, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  std::size_t first = 0;
  while (!CPU_ISSET(first, &allowed)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  std::atomic<bool> over{false};
  std::atomic<int> begun{0};
  call_time took;
  const auto on_one = [&](const auto& call) {
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    for (++begun; begun < 2;) std::this_thread::yield();
    call();
  };
  {
    std::jthread other(on_one, [&] {
      while (!over) work(1ms);
    });
    std::jthread timed_one(on_one, [&] { took = timed({}, [] { work(200ms); }), over = true; });
  }
  EXPECT_GE(took.processor, seconds{0.2});
  EXPECT_LT(took.processor, seconds{0.25});
  EXPECT_GT(took.clock, took.processor * 1.5);
}

/// Forward computes and backward sleeps, for 2 ms each.
struct half_asleep : prefix_by_pack {
  using prefix_by_pack::prefix_by_pack;
  result<void> forward(std::span<const piece> pack, std::span<state> states, std::span<const std::byte> in,
                       outgoing& out) {
    work(2ms);
    return prefix_by_pack::forward(pack, states, in, out);
  }
  result<void> backward(std::span<const piece> pack, std::span<state> states, std::span<const std::byte> in,
                        outgoing& out) {
    std::this_thread::sleep_for(2ms);
    return prefix_by_pack::backward(pack, states, in, out);
  }
};
struct says_it_waits : half_asleep {
  using half_asleep::half_asleep;
  static constexpr bool waits_in_calls = true;
};
struct says_it_never_waits : half_asleep {
  using half_asleep::half_asleep;
  static constexpr bool waits_in_calls = false;
};
struct wraps_it {
  using wraps = says_it_waits;
};
static_assert(waits_in_calls<half_asleep>() == std::nullopt);
static_assert(waits_in_calls<wraps_it>() == true);
static_assert(waits_in_calls<says_it_waits>() == true);
static_assert(waits_in_calls<says_it_never_waits>() == false);

/// Calls check(instruction) for each that ran on two stages.
template <class Compute, class Check>
void each_of_a_step(const Check& check) {
  const plan p = profiling::plan_of(profiling::side_by_side(2, std::vector<tokens>{{5}, {3}}), {.stages = 2});
  auto computes = tests::one_per_rank<Compute>(p);
  for (const result<step_report>& report : tests::run_everywhere(p, computes)) {
    ASSERT_TRUE(report) << report.error().detail;
    EXPECT_FALSE(report.value().timeline.empty());
    for (const timed_instruction& one : report.value().timeline) check(one);
  }
}

TEST(StepReport, HasTheProcessorsTimeOfCallsThatDoNotWait) {
  int forwards = 0, known = 0;
  each_of_a_step<half_asleep>([&](const timed_instruction& one) {
    if (one.instruction.pass() == pass::backward) {
      EXPECT_GE(one.end - one.begin, seconds{0.002});
      EXPECT_EQ(one.processor, seconds{});
      return;
    }
    ++forwards;
    if (one.processor == seconds{}) return;  // it has waited for a lock of the system's
    ++known;
    EXPECT_GE(one.processor, seconds{0.002});
    EXPECT_LT(one.processor, (one.end - one.begin) * 1.01 + seconds{1e-4});
  });
  EXPECT_GT(2 * known, forwards);
}

TEST(StepReport, HasTheProcessorsTimeAsTheComputeSays) {
  each_of_a_step<says_it_waits>([](const timed_instruction& one) { EXPECT_EQ(one.processor, seconds{}); });
  each_of_a_step<says_it_never_waits>([](const timed_instruction& one) {
    EXPECT_GT(one.processor, seconds{});
    if (one.instruction.pass() == pass::backward) {
      EXPECT_LT(one.processor, one.end - one.begin - seconds{0.001});
    }
  });
}

}  // namespace
}  // namespace slimpack::call_time_test
#endif
