#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/assign.hpp>
#include <slimpack/solvers/megatron.hpp>

#include "batches.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack {
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
  [[nodiscard]] std::optional<memory_rates> memory(int) const { return memory_rates{.live_token = 1, .gradient_token = 1}; }
};

TEST(BusiestPart, IsTheOneThatWaitsForNone) {
  const std::vector<sequence> batch = solvers::sequences_of(tests::lengths_of({10, 20}));
  EXPECT_EQ(solvers::busiest_part(uneven{}, batch, 3), 1);
  EXPECT_EQ(solvers::busiest_part(tests::per_token, batch, 3), 0);  // the first of equals
}

TEST(Assign, PutsEachSequenceOnOneReplicaInBatchOrder) {
  testing::generator random(11);
  const std::vector<tokens> lengths = tests::random_lengths(random, 60, {4096});
  const problem batch{lengths, {.replicas = 3}};
  const auto groups = solvers::assign(batch, tests::per_token, std::vector<memory_rates>(1)).value();
  ASSERT_EQ(groups.size(), 3u);
  std::vector<int> seen(lengths.size(), 0);
  for (const std::vector<sequence>& group : groups) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      ++seen[group[i].id.value];
      EXPECT_EQ(group[i].length, lengths[group[i].id.value]);
      EXPECT_TRUE(i == 0 || group[i - 1].id < group[i].id);
    }
  }
  EXPECT_EQ(seen, std::vector<int>(lengths.size(), 1));
}

// 1000 tokens of attention weigh as much as ten of 316 and more than nine: balanced by work, not by tokens.
TEST(Assign, BalancesWork) {
  std::vector<tokens> lengths(9, tokens{316});
  lengths.push_back({1000});
  const problem batch{lengths, {.replicas = 2}};
  const costs::quadratic attention{.linear = 0, .attention = 1};
  const auto groups = solvers::assign(batch, attention, std::vector<memory_rates>(1)).value();
  EXPECT_EQ(std::max(groups[0].size(), groups[1].size()), 9u);
}

TEST(Assign, AcceptsALimitOfExactlyTheLongestSequence) {
  const std::vector<tokens> lengths = tests::lengths_of({400, 1000});
  EXPECT_TRUE(solvers::assign(problem{lengths, limited(memory_unit::token, 1000)}, tests::per_token,
                              std::vector<memory_rates>(2)));
}

TEST(Assign, NamesTheMissingTokens) {
  const std::vector<tokens> lengths = tests::lengths_of({400, 1000});
  const auto groups = solvers::assign(problem{lengths, limited(memory_unit::token, 900)}, tests::per_token,
                                      std::vector<memory_rates>(2));
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().code, errc::out_of_memory);
  EXPECT_EQ(groups.error().detail,
            "a sequence of 1000 tokens needs 1000 tokens on stage 0, the limit is 900 tokens: 100 tokens are missing");
}

// GiB: stage 1 holds 2 of weights, 1024 tokens at 1/1024 live and 1/2048 of dK and dV, and 128 at 1/256 while they
// run backward: 2 + 1 + 0.5 + 0.5 = 4; in one piece, 2 + 1 + 4.
TEST(Assign, NamesTheMissingBytesAndTheStage) {
  const std::vector<tokens> lengths = tests::lengths_of({400, 1024});
  constexpr double gib = 1024.0 * 1024 * 1024;
  const std::vector<memory_rates> rates{
      {.live_token = gib / 1024},
      {.fixed = 2 * gib, .live_token = gib / 1024, .gradient_token = gib / 2048, .backward_token = gib / 256}};
  const auto groups = solvers::assign(problem{lengths, limited(memory_unit::byte, 3 * gib)}, tests::per_token, rates);
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().detail,
            "a sequence of 1024 tokens needs 4.00 GiB on stage 1, the limit is 3.00 GiB: 1.00 GiB are missing "
            "(weights and optimizer take 2.00 GiB)");
}

// 256 tokens live; accumulators of dK and dV are for backwards in several pieces.
TEST(Assign, ChargesNoAccumulatorsWhereOnePieceNeedsNone) {
  const shape on{.quantum = {128}};
  EXPECT_EQ(solvers::least_held({.live_token = 1, .gradient_token = 1}, on, {256}), 256);
}

// 1000 tokens end 104 after the last possible cut: 1000 live, accumulators of one chunk of 4, and those 104 running.
TEST(Assign, ChargesTheLastPieceAndOneChunksAccumulators) {
  const shape on{.chunks = 4, .quantum = {128}};
  EXPECT_EQ(solvers::least_held({.live_token = 1, .gradient_token = 1, .backward_token = 10}, on, {1000}), 2290);
}

TEST(Assign, RefusesNoBatchThatFits) {
  const std::vector<tokens> lengths = tests::lengths_of({256});
  const planner whole{shape{.quantum = {128}}, slicers::whole{}, accumulating{}, solvers::megatron{}, schedules::one_f_one_b{1}};
  const double peak = whole(lengths).value().replicas[0].peak_memory[0];
  shape limited = {.quantum = {128}, .memory = memory_limit{memory_unit::byte, peak}};
  const planner again{limited, slicers::whole{}, accumulating{}, solvers::megatron{}, schedules::one_f_one_b{1}};
  EXPECT_TRUE(again(lengths)) << again(lengths).error().detail;
}

}  // namespace
}  // namespace slimpack
