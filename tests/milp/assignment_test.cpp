#include <slimpack/costs/quadratic.hpp>
#include <slimpack/solvers/milp.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace slimpack::assignment_test {
namespace {

const costs::quadratic by_tokens{.linear = 1, .attention = 0, .backward_linear = 1};  // work is 2 s a token
const solvers::milp<> exact{.limits = {.gap = 1e-5}};

/// The least largest load over every assignment; sequences above the mean are shared by up to `sharers`.
double least_load(const std::vector<double>& work, std::size_t replicas, std::size_t sharers) {
  double mean = 0;
  for (const double w : work) mean += w / static_cast<double>(replicas);
  double best = std::numeric_limits<double>::infinity();
  std::vector<double> load(replicas);
  const std::function<void(std::size_t)> place = [&](std::size_t i) {
    if (i == work.size()) return void(best = std::min(best, *std::max_element(load.begin(), load.end())));
    for (std::uint32_t set = 1; set < 1u << replicas; ++set) {
      std::size_t degree = 0;
      for (std::size_t g = 0; g < replicas; ++g) degree += set >> g & 1;
      if (degree > (work[i] > mean ? sharers : 1)) continue;
      const std::vector<double> before = load;
      for (std::size_t g = 0; g < replicas; ++g)
        if ((set >> g & 1) != 0) load[g] += work[i] / static_cast<double>(degree);
      place(i + 1);
      load = before;
    }
  };
  place(0);
  return best;
}

TEST(MilpAssignment, FindsTheLeastLoadOfTinyBatches) {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u}) {
    testing::generator random(seed);
    shape on;
    on.replicas = static_cast<int>(random.between(2, 3));
    const auto sharers = static_cast<std::uint32_t>(random.between(1, on.replicas));
    std::vector<tokens> lengths;
    std::vector<double> work;
    for (std::int64_t n = random.between(3, 7); n > 0; --n) {
      lengths.push_back(random.length({4000}));
      work.push_back(2 * static_cast<double>(lengths.back().value));
    }
    const double least = least_load(work, static_cast<std::size_t>(on.replicas), sharers);
    const solvers::milp_assignment found = exact.assign({lengths, on}, by_tokens, sharers).value();
    EXPECT_NEAR(found.load.value / least, 1, 1e-4) << "seed " << seed;
    EXPECT_LE(found.bound.value, least * (1 + 1e-9)) << "seed " << seed;
    EXPECT_GE(found.bound.value, least * (1 - 1e-3)) << "seed " << seed;
    ASSERT_EQ(found.replicas.size(), lengths.size());
    for (const std::vector<std::uint32_t>& of : found.replicas) {
      EXPECT_FALSE(of.empty());
      EXPECT_TRUE(std::is_sorted(of.begin(), of.end()));
      EXPECT_LE(of.size(), sharers);
    }
  }
}

TEST(MilpAssignment, SharesWhatMemoryCannotHoldWhole) {
  // 1000 tokens under a limit of 400 need three of the four replicas; the others hold 100 each.
  const std::vector<tokens> lengths{{1000}, {100}, {100}};
  shape on{.replicas = 4, .quantum = {1}};
  on.memory = memory_limit{memory_unit::token, 400};
  const solvers::milp_assignment found = exact.assign({lengths, on}, by_tokens, 4).value();
  EXPECT_GE(found.replicas[0].size(), 3u);
  const result<solvers::milp_assignment> refused = exact.assign({lengths, on}, by_tokens, 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::out_of_memory);
}

TEST(MilpAssignment, IsProvenForHundredsOfSequences) {
  testing::generator random(3);
  std::vector<tokens> lengths;
  for (int i = 0; i < 256; ++i) lengths.push_back(random.length({100'000}));
  shape on;
  on.replicas = 8;
  const solvers::milp<> solver{.limits = {.gap = 1e-3}};
  const solvers::milp_assignment found = solver.assign({lengths, on}, by_tokens).value();
  EXPECT_LE(found.load, found.bound * (1 + 1e-3));
}

TEST(MilpAssignment, SaysHowManySequencesAreTooMany) {
  const std::vector<tokens> lengths(3, {10});
  const solvers::milp<> solver{.limits = {.sequences = 2}};
  const result<solvers::milp_assignment> refused = solver.assign({lengths, {.replicas = 2}}, by_tokens);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().detail,
            "the batch has 3 sequences, milp's limit is 2: assign fewer, or raise milp_limits::sequences");
}

}  // namespace
}  // namespace slimpack::assignment_test
