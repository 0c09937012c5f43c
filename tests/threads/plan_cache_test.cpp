#include <slimpack/planner.hpp>
#include <slimpack/service/plan_cache.hpp>

#include "../laws/cases.hpp"
#include "../solvers/batches.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::plan_cache_test {
namespace {

using tests::lengths_of;

/// Plans on two stages, and counts how often it is asked.
struct counting {
  planner<> plan_batch{shape{.stages = 2}};
  std::atomic<int>* asked;

  result<plan> operator()(std::span<const tokens> lengths, std::stop_token stop) const {
    ++*asked;
    return plan_batch(lengths, std::move(stop));
  }
};

TEST(PlanCache, GivesTheSamePlanForABatchThatItKnows) {
  std::atomic<int> asked{0};
  plan_cache cached{counting{.asked = &asked}};
  const std::vector<tokens> lengths = lengths_of({4096, 300, 300, 77});
  const plan first = cached(lengths).value();
  const plan second = cached(lengths).value();
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(second.hash, first.hash);
  EXPECT_EQ(second.replicas[0].programs, first.replicas[0].programs);
  EXPECT_EQ(second.planning_time, first.planning_time);
  EXPECT_EQ(first.hash, planner{shape{.stages = 2}}(lengths).value().hash);
}

TEST(PlanCache, TakesAnotherOrderForAnotherBatch) {
  std::atomic<int> asked{0};
  plan_cache cached{counting{.asked = &asked}};
  const plan one = cached(lengths_of({4096, 300})).value();
  const plan other = cached(lengths_of({300, 4096})).value();
  EXPECT_EQ(asked, 2);
  EXPECT_NE(one.hash, other.hash);
  EXPECT_EQ(other.lengths, lengths_of({300, 4096}));
}

TEST(PlanCache, ForgetsWhatWasAskedForLongestAgo) {
  std::atomic<int> asked{0};
  plan_cache cached{counting{.asked = &asked}, 2};
  const std::vector<tokens> a = lengths_of({100}), b = lengths_of({200}), c = lengths_of({300});
  for (const auto& lengths : {a, b, a, c}) cached(lengths).value();  // b is the oldest when c comes
  EXPECT_EQ(asked, 3);
  cached(a).value(), cached(c).value();
  EXPECT_EQ(asked, 3);
  cached(b).value();
  EXPECT_EQ(asked, 4);
}

TEST(PlanCache, KeepsNothingWhereItHasNoRoom) {
  std::atomic<int> asked{0};
  plan_cache cached{counting{.asked = &asked}, 0};
  for (int i = 0; i < 3; ++i) cached(lengths_of({100})).value();
  EXPECT_EQ(asked, 3);
}

TEST(PlanCache, KeepsNoPlanOfASearchThatWasStopped) {
  std::atomic<int> asked{0};
  plan_cache cached{counting{.asked = &asked}};
  std::stop_source stop;
  cached(lengths_of({100}), stop.get_token()).value();
  cached(lengths_of({100}), stop.get_token()).value();
  EXPECT_EQ(asked, 1);
  stop.request_stop();
  cached(lengths_of({200}), stop.get_token()).value();
  cached(lengths_of({200})).value();
  EXPECT_EQ(asked, 3);
  cached(lengths_of({200}), stop.get_token()).value();  // the one of the search that nobody stopped
  EXPECT_EQ(asked, 3);
}

TEST(PlanCache, MarksPlansUnderAStopTokenAsTruncated) {
  std::atomic<int> asked{0};
  plan_cache cached{counting{.asked = &asked}};
  const std::stop_source stop;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(cached(lengths_of({100}), stop.get_token()).value().truncated);
    EXPECT_FALSE(cached(lengths_of({100})).value().truncated);
  }
  EXPECT_EQ(asked, 1);
}

TEST(PlanCache, KeepsNoErrors) {
  std::atomic<int> asked{0};
  plan_cache cached{counting{.asked = &asked}};
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(cached(lengths_of({0})));
  EXPECT_EQ(asked, 2);
}

TEST(PlanCache, AnswersManyThreads) {
  std::atomic<int> asked{0};
  plan_cache cached{counting{.asked = &asked}, 3};
  const planner plain{shape{.stages = 2}};
  std::vector<std::vector<tokens>> batches;
  std::vector<std::uint64_t> hashes;
  for (std::int64_t i = 0; i < 5; ++i) {
    batches.push_back(lengths_of({100 + i, 4000 - i}));
    hashes.push_back(plain(batches.back()).value().hash);
  }
  std::atomic<int> wrong{0};
  const auto calls = static_cast<std::size_t>(tests::cases(50));
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < calls; ++i)
          wrong += cached(batches[(i * (t + 1)) % 5]).value().hash != hashes[(i * (t + 1)) % 5];
      });
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace slimpack::plan_cache_test
