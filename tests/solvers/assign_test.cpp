#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/two_phase.hpp>

#include "batches.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::assign_test {
namespace {

/// Forward and backward take a second a token on part 0 and three on part 1.
struct uneven {
  [[nodiscard]] seconds time(const slice& s, pass, int part) const {
    return {static_cast<double>(s.length.value) * (part == 1 ? 3 : 1)};
  }
};

shape limited(memory_unit unit, double amount) {
  shape on{.stages = 2};
  on.memory = memory_limit{unit, amount};
  return on;
}

/// A byte a live token, and one of dK and dV.
struct accumulating : costs::quadratic {
  [[nodiscard]] std::optional<memory_rates> memory(int) const {
    return memory_rates{.live_token = 1, .gradient_token = 1};
  }
};

TEST(BusiestPart, IsTheOneThatWaitsForNone) {
  const std::vector<sequence> batch = batch_view(tests::lengths_of({10, 20})).sequences();
  EXPECT_EQ(solvers::busiest_part(uneven{}, batch, 3), 1);
  EXPECT_EQ(solvers::busiest_part(tests::per_token, batch, 3), 0);  // the first of equals
}

result<solution> solved(const std::vector<tokens>& lengths, const shape& on, const auto& cost) {
  return solvers::two_phase{}.solve(problem{lengths, on}, slicers::equal_cost{}, cost, schedules::list{});
}

TEST(Assign, AcceptsALimitOfExactlyTheLongestSequence) {
  EXPECT_TRUE(solved(tests::lengths_of({400, 1000}), limited(memory_unit::token, 1000), tests::per_token));
}

TEST(Assign, NamesTheMissingTokens) {
  const auto found = solved(tests::lengths_of({400, 1000}), limited(memory_unit::token, 900), tests::per_token);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::out_of_memory);
  EXPECT_EQ(found.error().detail,
            "a sequence of 1000 tokens needs 1000 tokens on stage 0, the limit is 900 tokens: 100 tokens are missing");
}

// 1000 tokens are 8 quanta, 3 of them on the fullest of 3 replicas.
TEST(Assign, NamesTheMissingTokensOfTheMostSharers) {
  shape on = limited(memory_unit::token, 300);
  on.replicas = 3;
  const auto found = solved(tests::lengths_of({400, 1000}), on, tests::per_token);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().detail,
            "a sequence of 1000 tokens, shared by 3 replicas, needs 384 tokens on stage 0, the limit is 300 tokens: 84 "
            "tokens are missing");
}

/// Stage 1 holds 2 GiB of weights, and what backward needs.
struct in_bytes : costs::quadratic {
  static constexpr double gib = 1024.0 * 1024 * 1024;
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const {
    if (stage == 0) return memory_rates{.live_token = gib / 1024};
    return memory_rates{
        .fixed = 2 * gib, .live_token = gib / 1024, .gradient_token = gib / 2048, .backward_token = gib / 256};
  }
};

// GiB: stage 1 holds 2 of weights, 1024 tokens at 1/1024 live and 1/2048 of dK and dV, and 128 at 1/256 while they
// run backward: 2 + 1 + 0.5 + 0.5 = 4; in one slice, 2 + 1 + 4.
TEST(Assign, NamesTheMissingBytesAndTheStage) {
  const auto found = solved(tests::lengths_of({400, 1024}), limited(memory_unit::byte, 3 * in_bytes::gib), in_bytes{});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().detail,
            "a sequence of 1024 tokens needs 4.00 GiB on stage 1, the limit is 3.00 GiB: 1.00 GiB are missing "
            "(weights and optimizer take 2.00 GiB)");
}

// 256 tokens live; accumulators of dK and dV are for backwards in several slices.
TEST(Assign, ChargesNoAccumulatorsWhereOneSliceNeedsNone) {
  const shape on{.quantum = {128}};
  EXPECT_EQ(solvers::least_held({.live_token = 1, .gradient_token = 1}, on, {256}), 256);
}

// 1000 tokens end 104 after the last possible cut: 1000 live, accumulators of one chunk of 4, and those 104 running.
TEST(Assign, ChargesTheLastSliceAndOneChunksAccumulators) {
  const shape on{.chunks = 4, .quantum = {128}};
  EXPECT_EQ(solvers::least_held({.live_token = 1, .gradient_token = 1, .backward_token = 10}, on, {1000}), 2290);
}

TEST(Assign, RefusesNoBatchThatFits) {
  const std::vector<tokens> lengths = tests::lengths_of({256});
  const planner whole{shape{.quantum = {128}}, slicers::whole{}, accumulating{}, solvers::megatron{},
                      schedules::one_f_one_b{1}};
  const double peak = whole(lengths).value().replicas[0].peak_memory[0];
  shape limited = {.quantum = {128}, .memory = memory_limit{memory_unit::byte, peak}};
  const planner again{limited, slicers::whole{}, accumulating{}, solvers::megatron{}, schedules::one_f_one_b{1}};
  EXPECT_TRUE(again(lengths)) << again(lengths).error().detail;
}

}  // namespace
}  // namespace slimpack::assign_test
