#include <slimpack/solvers/detail/parallel.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
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

}  // namespace
}  // namespace slimpack::detail
