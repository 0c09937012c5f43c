#include <slimpack/solvers/detail/parallel.hpp>
#include <slimpack/solvers/detail/parallel_ahead.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace slimpack::detail {
namespace {

constexpr std::size_t counts[] = {0, 1, 2, 3, 8};

TEST(ForEachIndex, CallsEachIndexOnceOnAnyNumberOfThreads) {
  for (const std::size_t threads : counts) {
    for (const std::size_t n : {0u, 1u, 2u, 7u, 1000u}) {
      std::vector<int> calls(n);  // not atomic: nobody else writes to an index
      EXPECT_TRUE(for_each_index(n, threads, [&](std::size_t i) -> result<void> { return ++calls[i], success(); }));
      EXPECT_EQ(calls, std::vector<int>(n, 1)) << threads << " threads";
    }
  }
}

TEST(ForEachIndex, RunsOnTheCallersThreadWhereOneIsEnough) {
  const auto here = [caller = std::this_thread::get_id()](std::size_t) -> result<void> {
    if (std::this_thread::get_id() == caller) return success();
    return error{errc::invalid_input, "another thread"};
  };
  EXPECT_TRUE(for_each_index(100, 1, here));
  EXPECT_TRUE(for_each_index(1, 8, here));
}

TEST(ForEachIndex, RunsOnAsManyThreadsAsAsked) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::atomic<int> met{0};
  const result<void> all = for_each_index(4, 4, [&](std::size_t) -> result<void> {
    ++met;
    while (met < 4) {  // until four are here at once
      if (std::chrono::steady_clock::now() > deadline) return error{errc::timed_out, "others never came"};
      std::this_thread::yield();
    }
    return success();
  });
  EXPECT_TRUE(all) << met << " of 4 threads met";
}

TEST(ForEachIndex, TellsTheErrorOfTheSmallestIndexThatFailed) {
  for (const std::size_t threads : counts) {
    const result<void> failed = for_each_index(500, threads, [&](std::size_t i) -> result<void> {
      if (i % 100 == 37) return error{errc::out_of_memory, std::to_string(i)};
      return success();
    });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().detail, "37") << threads << " threads";
  }
}

TEST(ForEachIndex, ThrowsWhatTheSmallestIndexThrew) {
  for (const std::size_t threads : counts) {
    try {
      static_cast<void>(for_each_index(500, threads, [&](std::size_t i) -> result<void> {
        if (i == 250) return error{errc::invalid_input, "later"};
        if (i >= 41) throw std::runtime_error(std::to_string(i));
        return success();
      }));
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& thrown) {
      EXPECT_STREQ(thrown.what(), "41") << threads << " threads";
    }
  }
}

TEST(ForEachIndex, BeginsNothingAfterAFailureOnOneThread) {
  std::size_t calls = 0;
  EXPECT_FALSE(for_each_index(100, 1, [&](std::size_t i) -> result<void> {
    ++calls;
    if (i == 5) return error{errc::invalid_input, "enough"};
    return success();
  }));
  EXPECT_EQ(calls, 6u);
}

/// Keeps threads busy for a while that depends on the index, so that calls end in another order than they began.
void linger(std::size_t i) { std::this_thread::sleep_for(std::chrono::microseconds(i * 7919 % 13 * 20)); }

TEST(ForEachInWindow, BeginsWithWhatAWindowBeforeHasFound) {
  constexpr std::size_t n = 200;
  for (const std::size_t window : {1u, 2u, 5u, 300u}) {
    // Each call adds to what its beginning saw, which is the sum of all results so far but for those of the window.
    std::vector<std::size_t> expected(n);
    for (std::size_t i = 0, sum = 0; i < n; ++i) {
      if (i >= window) sum += expected[i - window];
      expected[i] = (sum * 31 + i) % 1009;
    }
    for (const std::size_t threads : counts) {
      std::vector<std::size_t> seen(n), found(n);
      std::size_t sum = 0, begun = 0;  // not atomic: beginnings come one at a time
      const auto begin = [&](std::size_t i) {
        EXPECT_EQ(begun++, i);
        if (i >= window) sum += found[i - window];
        seen[i] = sum;
      };
      EXPECT_TRUE(for_each_ahead(n, threads, window, begin, [&](std::size_t i) -> result<void> {
        linger(i);
        found[i] = (seen[i] * 31 + i) % 1009;
        return success();
      }));
      EXPECT_EQ(found, expected) << "window of " << window << ", " << threads << " threads";
    }
  }
}

TEST(ForEachInWindow, RunsAsManyAtOnceAsTheWindowHas) {
  std::atomic<int> here{0};
  int most = 0;
  std::mutex guard;
  EXPECT_TRUE(for_each_ahead(
      100, 8, 3, [](std::size_t) {},
      [&](std::size_t i) -> result<void> {
        const int now = ++here;
        linger(i);
        {
          const std::lock_guard lock(guard);
          most = std::max(most, now);
        }
        --here;
        return success();
      }));
  EXPECT_LE(most, 3);
}

TEST(ForEachInWindow, EndsWhereACallFailsOrThrows) {
  for (const std::size_t threads : counts) {
    const auto run = [&](bool throws) {
      return for_each_ahead(
          500, threads, 4, [](std::size_t) {},
          [&](std::size_t i) -> result<void> {
            linger(i);
            if (i % 100 != 37) return success();
            if (throws) throw std::runtime_error(std::to_string(i));
            return error{errc::out_of_memory, std::to_string(i)};
          });
    };
    const result<void> failed = run(false);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().detail, "37") << threads << " threads";
    try {
      static_cast<void>(run(true));
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& thrown) {
      EXPECT_STREQ(thrown.what(), "37") << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace slimpack::detail
