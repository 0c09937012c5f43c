#include <slimpack/schedules/memory_cap.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"
#include "../simulators/workloads.hpp"
#include "../support/least_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::memory_cap_test {
namespace {

using schedules::memory_cap;

std::vector<std::uint32_t> allowed(const workload& work, std::size_t stage) {
  const memory_cap cap(work);
  return {cap.allowed(stage), cap.allowed(stage) + work.times.packs(pass::backward) + 1};
}

workload limited(workload work, double limit) {
  work.shape.memory = memory_limit{memory_unit::byte, limit};
  return work;
}

TEST(MemoryCap, AllowsEverythingWithoutALimit) {
  EXPECT_EQ(allowed(tests::uniform_work(2, 3, {}), 1), (std::vector<std::uint32_t>{3, 3, 3, 3}));
}

// Room for 2 packs of 128 tokens: two ahead of the backwards, and never more than there are.
TEST(MemoryCap, CountsForwardsThatFitBesideThoseNotYetBackward) {
  EXPECT_EQ(allowed(limited(tests::uniform_work(1, 4, {}), 256), 0), (std::vector<std::uint32_t>{2, 3, 4, 4, 4}));
  EXPECT_EQ(allowed(limited(tests::uniform_work(1, 4, {}), 255), 0), (std::vector<std::uint32_t>{1, 2, 3, 4, 4}));
}

// 5 for each token of a running backward: B needs 128 + 5 x 128 with one pack live, 768; two live packs are 896.
TEST(MemoryCap, LeavesRoomForWhatABackwardNeeds) {
  workload work = tests::uniform_work(1, 3, {});
  work.rates[0].backward_token = 5;
  EXPECT_EQ(allowed(limited(work, 768), 0), (std::vector<std::uint32_t>{1, 2, 3, 3}));
  EXPECT_EQ(allowed(limited(work, 896), 0), (std::vector<std::uint32_t>{2, 3, 3, 3}));
}

TEST(MemoryCap, NamesTheNumbersOfWhatDoesNotFit) {
  const workload work = limited(tests::sliced_work(2, 1, 4, {}), 511);
  const result<void> fits = memory_cap(work).check(work);
  ASSERT_FALSE(fits.has_value());
  EXPECT_EQ(fits.error().code, errc::out_of_memory);
  EXPECT_NE(fits.error().detail.find("512"), std::string::npos) << fits.error().detail;
  EXPECT_NE(fits.error().detail.find("511"), std::string::npos) << fits.error().detail;
  EXPECT_TRUE(memory_cap(limited(work, 512)).check(work).has_value());
}

// Sequence 0 (512 tokens) runs backward in two slices, so between B0 and B1 accumulators are open, beside which F0
// would not fit: 512 - 128 + 10 x 384 + 4 x 512 > 5632. But B0 follows F0, so F0 has run by then.
TEST(MemoryCap, DoesNotAskAgainOfWhatHasRun) {
  partition packs;
  for (const slice& s : {slice{{0}, {0}, {512}}, slice{{1}, {0}, {1024}}, slice{{2}, {0}, {128}}}) {
    packs.forward.push(s);
    packs.forward.close();
  }
  for (const slice& s :
       {slice{{0}, {384}, {128}}, slice{{0}, {0}, {384}}, slice{{1}, {0}, {1024}}, slice{{2}, {0}, {128}}}) {
    packs.backward.push(s);
    packs.backward.close();
  }
  const memory_rates rates{.live_token = 1, .gradient_token = 10, .forward_token = 4};
  const workload work = limited(price(packs, tests::per_slice{}, tests::pipeline(1), {rates}), 5632);
  // B0 after one forward holds 512 + 10 x 512 = 5632, which fits; after two it would hold 1536 + 10 x 512.
  // Between B0 and B1, F1 would hold 1408 + 10 x 384 + 4 x 1024; once B1 has closed the accumulators, 1024 + 4 x 1024.
  EXPECT_EQ(allowed(work, 0), (std::vector<std::uint32_t>{1, 1, 3, 3, 3}));
}

// Accumulators that take no memory change nothing, neither what is allowed nor how long that takes to find: what fitted
// is not asked again.
TEST(MemoryCap, AsksOnceWhereAccumulatorsTakeNoMemory) {
  const workload opens = limited(tests::sliced_work(1, 20'000, 2, {}), 1e12);
  workload none = opens;
  std::fill(none.gradient_before.begin(), none.gradient_before.end(), 0);
  ASSERT_NE(opens.gradient_before, none.gradient_before);
  const auto time_of = [](const workload& work) {
    return tests::least_time([&] { EXPECT_EQ(allowed(work, 0).front(), work.times.packs(pass::forward)); });
  };
  EXPECT_LT(time_of(opens), 20 * time_of(none));
  const workload tight = limited(tests::sliced_work(1, 50, 3, {}), 128 * 7);
  none = tight;
  std::fill(none.gradient_before.begin(), none.gradient_before.end(), 0);
  EXPECT_EQ(allowed(tight, 0), allowed(none, 0));
}

// The definition, by brute force: with i backwards done, whatever forward may run fits, and so does backward i after
// as many forwards as are allowed.
TEST(MemoryCap, HoldsInEveryStateThatItAllows) {
  testing::generator random(71);
  for (int n = tests::cases(200); n > 0; --n) {
    workload work = testing::any_replica({.longest = {8192}}, random).work;
    for (memory_rates& r : work.rates)
      for (double memory_rates::*rate :
           {&memory_rates::gradient_token, &memory_rates::forward_token, &memory_rates::backward_token})
        r.*rate = static_cast<double>(random.between(0, 9));
    const double tokens_of_all = static_cast<double>(work.times.before.forward.back());
    work = limited(work, std::floor(tokens_of_all * 9 * random.ratio()));
    const memory_cap cap(work);
    if (!cap.check(work)) continue;
    const std::vector<std::int64_t>& f = work.times.before.forward;
    const std::vector<std::int64_t>& b = work.times.before.backward;
    const auto number = [](std::int64_t x) { return static_cast<double>(x); };
    for (std::size_t r = 0; r < work.rates.size(); ++r) {
      for (std::size_t i = 0; i <= work.times.packs(pass::backward); ++i) {
        const std::uint32_t most = cap.allowed(r)[i];
        EXPECT_GE(most, cap.allowed(r)[i == 0 ? 0 : i - 1]) << "seed 71";
        for (std::uint32_t j = i == 0 ? 0 : work.turn[i - 1] + 1; j < most; ++j)
          EXPECT_LE(work.rates[r].in_forward(number(f[j + 1] - b[i]), number(work.gradient_before[i]),
                                             number(f[j + 1] - f[j])),
                    work.shape.memory->amount)
              << "forward " << j << " with " << i << " backwards done (seed 71)";
        if (i == work.times.packs(pass::backward)) continue;
        EXPECT_LE(work.rates[r].in_backward(number(f[most] - b[i]), number(work.gradient_running[i]),
                                            number(b[i + 1] - b[i])),
                  work.shape.memory->amount)
            << "backward " << i << " after " << most << " forwards (seed 71)";
      }
    }
  }
}

}  // namespace
}  // namespace slimpack::memory_cap_test
