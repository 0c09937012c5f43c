#include <slimpack/solvers/assign.hpp>

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

// GiB: stage 1 holds 2 of weights, 1000 tokens at 1/1000 live and 1/2000 of dK and dV, and 128 at 1/256 while they
// run backward: 2 + 1 + 0.5 + 0.5 = 4.
TEST(Assign, NamesTheMissingBytesAndTheStage) {
  const std::vector<tokens> lengths = tests::lengths_of({400, 1000});
  constexpr double gib = 1024.0 * 1024 * 1024;
  const std::vector<memory_rates> rates{
      {.live_token = gib / 1000},
      {.fixed = 2 * gib, .live_token = gib / 1000, .gradient_token = gib / 2000, .backward_token = gib / 256}};
  const auto groups = solvers::assign(problem{lengths, limited(memory_unit::byte, 3 * gib)}, tests::per_token, rates);
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().detail,
            "a sequence of 1000 tokens needs 4.00 GiB on stage 1, the limit is 3.00 GiB: 1.00 GiB are missing "
            "(weights and optimizer take 2.00 GiB)");
}

}  // namespace
}  // namespace slimpack
