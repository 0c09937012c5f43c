#include <slimpack/costs/quadratic.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/solvers/divide/division_problem.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/search_options.hpp>

#include "batches.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace slimpack::division_problem_test {
namespace {

using divide::division_problem;

/// What a division of this batch is asked, where up to `most` replicas may share a sequence.
result<division_problem> asked_of(const std::vector<tokens>& lengths, const shape& on, const auto& cost,
                                  std::uint32_t most, const solvers::sharing_zones& zone = {},
                                  exchange_set exchanges = {}) {
  return division_problem::of({lengths, on}, cost, rates_of(cost, on).value(), most, zone, exchanges,
                              solvers::default_search_options);
}

std::vector<std::uint32_t> most_of(const division_problem& asked) {
  std::vector<std::uint32_t> most;
  for (const divide::sharers_range& s : asked.sharers) most.push_back(s.most);
  return most;
}

/// The second part is twice as slow as the first and the third, and the fourth thrice.
struct uneven : costs::quadratic {
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    return quadratic::time(s, p, part) * (part == 1 ? 2 : part == 3 ? 3 : 1);
  }
};

// Forward and backward take 1 + 2 s a token and a call 0.5 s a slice: of 10 and 4 tokens, twice as much on stage 1.
TEST(DivisionProblem, CountsWorkOnTheBusiestStage) {
  const uneven cost{{.linear = 1, .attention = 0, .per_call = {0.5}}};
  const division_problem asked = asked_of(tests::lengths_of({10, 4}), {.stages = 3, .replicas = 2}, cost, 2).value();
  EXPECT_EQ(asked.stage, 1);
  EXPECT_EQ(asked.work, (std::vector<double>{2 * 30 + 1, 2 * 12 + 1}));
  EXPECT_EQ(asked.mean(), (61 + 25) / 2.0);
}

// Of four parts on two stages: 1 and 1 on stage 0, 2 and 3 on stage 1.
TEST(DivisionProblem, CountsAllChunksOfAStage) {
  const uneven cost{{.linear = 1, .attention = 0}};
  const division_problem asked = asked_of(tests::lengths_of({10}), {.stages = 2, .chunks = 2}, cost, 2).value();
  EXPECT_EQ(asked.stage, 1);
  EXPECT_EQ(asked.work, std::vector<double>{(2 + 3) * 30});
}

// A sequence has no more sharers than quanta of 10 tokens, than replicas, than it may have, and than its zone lets.
TEST(DivisionProblem, HasNoMoreSharersThanQuantaReplicasOrZonesAllow) {
  const std::vector<tokens> lengths = tests::lengths_of({1, 10, 11, 35, 1000});
  const shape on{.replicas = 6, .quantum = {10}};
  using most = std::vector<std::uint32_t>;
  EXPECT_EQ(most_of(asked_of(lengths, on, tests::per_token, 100).value()), (most{1, 1, 2, 4, 6}));
  EXPECT_EQ(most_of(asked_of(lengths, on, tests::per_token, 3).value()), (most{1, 1, 2, 3, 3}));
  EXPECT_EQ(most_of(asked_of(lengths, on, tests::per_token, 100, {.inside = 30, .between = 30}).value()),
            (most{1, 1, 1, 2, 6}));
}

// Memory of 400 tokens asks for three sharers of 1000, whatever the zone says.
TEST(DivisionProblem, LetsMemoryAskForMoreThanZonesAllow) {
  const shape on{.replicas = 6, .quantum = {10}, .memory = memory_limit{memory_unit::token, 400}};
  const division_problem asked =
      asked_of(tests::lengths_of({1000, 300}), on, tests::per_token, 100, {.inside = 1e9, .between = 1e9}).value();
  EXPECT_EQ(asked.sharers[0].least, 3u);
  EXPECT_EQ(asked.sharers[0].most, 3u);
  EXPECT_EQ(asked.sharers[1].least, 1u);
  EXPECT_EQ(asked.sharers[1].most, 1u);
}

// Of 1000 tokens among 2, each has 500; the limit is 499.
TEST(DivisionProblem, IsNoneWhereNoSharersHoldASequence) {
  const shape on{.replicas = 2, .quantum = {10}, .memory = memory_limit{memory_unit::token, 499}};
  const error why = asked_of(tests::lengths_of({300, 1000}), on, tests::per_token, 100).error();
  EXPECT_EQ(why.code, errc::out_of_memory);
  EXPECT_EQ(why.detail,
            "a sequence of 1000 tokens, shared by 2 replicas, needs 500 tokens on stage 0, the limit is 499 tokens: "
            "1 tokens are missing");
}

TEST(DivisionProblem, SaysWhetherExchangesTakeTime) {
  const shape on{.replicas = 2, .quantum = {10}};
  const std::vector<tokens> lengths = tests::lengths_of({100});
  EXPECT_TRUE(asked_of(lengths, on, tests::per_token, 2).value().exchange_is_free);
  EXPECT_FALSE(asked_of(lengths, on, costs::quadratic{.hop = {1e-6}}, 2).value().exchange_is_free);
  EXPECT_FALSE(asked_of(lengths, {.quantum = {10}}, tests::per_token, 2).value().exchange_is_free)
      << "one replica exchanges nothing";
}

/// What is kept of others takes as much room as it says, and travels in no time.
struct crowded : costs::quadratic {
  double other_token{};
  explicit crowded(double kept) : quadratic{.per_pack = {6e-5}, .hop = {2e-5}}, other_token(kept) {}
  [[nodiscard]] std::optional<memory_rates> memory(int) const {
    return memory_rates{.live_token = 4, .other_token = other_token};
  }
};

TEST(DivisionProblem, KeepsInRoomThatIsLimited) {
  const std::vector<tokens> lengths = tests::lengths_of({100});
  const shape free{.replicas = 2}, limited{.replicas = 2, .memory = memory_limit{memory_unit::byte, 1e6}};
  EXPECT_TRUE(asked_of(lengths, limited, crowded(1), 2).value().keeping_takes_room());
  EXPECT_FALSE(asked_of(lengths, free, crowded(1), 2).value().keeping_takes_room());
  EXPECT_FALSE(asked_of(lengths, limited, crowded(0), 2).value().keeping_takes_room());
  EXPECT_FALSE(
      asked_of(lengths, limited, crowded(1), 2, {}, exchange_set::only(exchange::ring)).value().keeping_takes_room());
}

/// The fewest replicas that may share a sequence of 100000 tokens under a limit, of 6, or why none may.
result<std::uint32_t> least_sharers(const crowded& cost, double limit, exchange_set allowed) {
  const std::vector<tokens> lengths{{100000}};
  const problem batch{lengths, {.stages = 1, .replicas = 6, .memory = memory_limit{memory_unit::byte, limit}}};
  const result<divide::division_problem> asked =
      divide::division_problem::of(batch, cost, {*cost.memory(0)}, 6, {}, allowed, solvers::default_search_options);
  if (!asked) return asked.error();
  return asked.value().sharers[0].least;
}

// k sharers hold 4 bytes for each of 100000/k tokens, and 1 for each of the others': 400000/k + 100000 (k - 1)/k, which
// is 250000, 200000, 175000, 160000 and 150000.
TEST(DivisionProblem, HasAsManySharersAsHoldWhatIsKeptBeside) {
  const exchange_set keep = exchange_set::only(exchange::keep);
  EXPECT_EQ(least_sharers(crowded(1), 251e3, keep).value(), 2u);
  EXPECT_EQ(least_sharers(crowded(1), 230e3, keep).value(), 3u);
  EXPECT_EQ(least_sharers(crowded(1), 170e3, keep).value(), 5u);
  EXPECT_EQ(least_sharers(crowded(1), 170e3, exchange_set::all()).value(), 3u);  // 4/3 of 100000
  EXPECT_EQ(least_sharers(crowded(1), 120e3, keep).value(), 4u) << "six may have uneven parts: phase 2 tells";
}

// However many share, each holds 2 bytes at least for each of 100000 tokens.
TEST(DivisionProblem, IsNoneWhereWhatIsKeptFitsNobody) {
  const error why = least_sharers(crowded(2), 199e3, exchange_set::only(exchange::keep)).error();
  EXPECT_EQ(why.code, errc::out_of_memory);
  EXPECT_EQ(
      why.detail,
      "a sequence of 100000 tokens, shared by 6 replicas, needs 200000 bytes on stage 0, the limit is 199000 bytes: "
      "1000 bytes are missing (weights and optimizer take 0 bytes); each keeps the keys and values of all others, "
      "as exchange::queries and exchange::ring do not");
  EXPECT_TRUE(least_sharers(crowded(2), 199e3, exchange_set::all()));
}

}  // namespace
}  // namespace slimpack::division_problem_test
