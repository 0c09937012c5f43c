#include <slimpack/costs/price.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/simulator/bounds/pieces.hpp>
#include <slimpack/simulator/bounds/residence.hpp>
#include <slimpack/solvers/assign.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace slimpack {
namespace {

double overhead_of(const costs::quadratic& cost, const shape& on, const std::vector<tokens>& lengths, double step) {
  const std::vector<sequence> batch = solvers::sequences_of(lengths);
  const simulator::pieces all(batch, on.quantum);
  return simulator::residence(cost, on, batch, all, rates_of(cost, on).value()).least_overhead(0, step, 1, 1);
}

/// A second a token forward, two backward.
constexpr costs::quadratic plain{.linear = 1, .attention = 0};
const std::vector<tokens> four{{10}, {10}, {10}, {10}};

// Four sequences of 10 tokens on two stages, a step of 150 s, packs of 1 s overhead.
//   held     at most 40 tokens; 1 s a token to come, 2 to go            40 x 150 - 40^2 (1 + 2) / 2 = 3600
//   forward  of a piece on stage 0 half of 10 s, on stage 1 10 s        (4 sqrt(10 x 5))^2 + (4 sqrt(10 x 10))^2 = 2400
//   backward twice that                                                 4800
//   packs    (sqrt(2400) + sqrt(4800))^2 / 3600 = 3.886
TEST(Residence, ForcesAsManyPacksAsFitInTime) {
  const double root = std::sqrt(2400.0) + std::sqrt(4800.0);
  EXPECT_NEAR(overhead_of(plain, {.stages = 2, .quantum = {10}}, four, 150), root * root / 3600, 1e-9);
}

// At most 20 tokens: 20 x 150 - 20^2 x 3 / 2 = 2400.
TEST(Residence, ForcesMorePacksWhereLessIsHeld) {
  const double root = std::sqrt(2400.0) + std::sqrt(4800.0);
  const shape on{.stages = 2, .quantum = {10}, .memory = memory_limit{memory_unit::token, 20}};
  EXPECT_NEAR(overhead_of(plain, on, four, 150), root * root / 2400, 1e-9);
}

// At most 8 tokens: 8 x 150 - 8^2 x 3 / 2 = 1104. But each sequence waits for itself, 10 tokens for 30 s: 1200.
TEST(Residence, FindsThatNothingFits) {
  const shape on{.stages = 2, .quantum = {10}, .memory = memory_limit{memory_unit::token, 8}};
  EXPECT_EQ(overhead_of(plain, on, four, 150), std::numeric_limits<double>::infinity());
}

// One sequence of 40 tokens waits on stage 1 for itself: its pieces have 120, 90, 60, 30 s of themselves before them
// or in their packs, 10 tokens each: 3000. Held 3600, as above; before the last part 800 and 1600:
// (sqrt(800) + sqrt(1600))^2 / (3600 - 3000) = 7.77, more than the 3.886 of short sequences.
TEST(Residence, CountsWhatALongSequenceWaitsForItself) {
  const double root = std::sqrt(800.0) + std::sqrt(1600.0);
  EXPECT_NEAR(overhead_of(plain, {.stages = 2, .quantum = {10}}, {{40}}, 150), root * root / 600, 1e-9);
}

// A message of 3 s there and back, and packs of 2 s on both stages in both passes, of which half on stage 0: 6 + 2 x 3
// s for each of 40 tokens.
TEST(Residence, CountsMessagesAndOverheadOnTheWay) {
  constexpr costs::quadratic cost{.linear = 1, .attention = 0, .per_pack = {2}, .hop = {3}};
  const double root = std::sqrt(2400.0) + std::sqrt(4800.0);
  EXPECT_NEAR(overhead_of(cost, {.stages = 2, .quantum = {10}}, four, 150), root * root / (3600 - 40 * 12), 1e-9);
}

}  // namespace
}  // namespace slimpack
