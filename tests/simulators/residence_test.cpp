#include <slimpack/costs/quadratic.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/simulators/bounds/batch_quanta.hpp>
#include <slimpack/simulators/bounds/residence.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace slimpack::residence_test {
namespace {

double overhead_of(const costs::quadratic& cost, const shape& on, const std::vector<tokens>& lengths, double step) {
  const std::vector<sequence> batch = batch_view(lengths).sequences();
  const simulators::batch_quanta all(batch, on.quantum);
  return simulators::residence(cost, on, batch, all, rates_of(cost, on).value()).least_overhead(0, step, 1, 1);
}

/// A second a token forward, two backward.
constexpr costs::quadratic plain{.linear = 1, .attention = 0};
const std::vector<tokens> four{{10}, {10}, {10}, {10}};

// Four sequences of 10 tokens on two stages, a step of 150 s, packs of 1 s overhead.
//   held     at most 40 tokens; 1 s a token to come, 2 to go            40 x 150 - 40^2 (1 + 2) / 2 = 3600
//   forward  of a quantum on stage 0 half of 10 s, on stage 1 10 s        (4 sqrt(10 x 5))^2 + (4 sqrt(10 x 10))^2 =
//   2400
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

// At most 4 tokens: 4 x 150 - 4^2 x 3 / 2 = 576. But each sequence waits for itself, 10 tokens for a forward of 10 s
// and a backward of 10 s, weight gradients apart: 800.
TEST(Residence, FindsThatNothingFits) {
  const shape on{.stages = 2, .quantum = {10}, .memory = memory_limit{memory_unit::token, 4}};
  EXPECT_EQ(overhead_of(plain, on, four, 150), std::numeric_limits<double>::infinity());
}

/// Two bytes a token, of which one is for later slices.
struct reads_prefixes : costs::quadratic {
  [[nodiscard]] static std::optional<memory_rates> memory(int /*stage*/) {
    return memory_rates{.fixed = 5, .live_token = 2, .prefix_token = 1};
  }
};

// 25 bytes have room for 10 tokens of cut sequences, and for 20 of whole ones: what forces packs is the room that any
// plan has.
TEST(Residence, CountsWhatTokensKeepAtLeast) {
  const shape on{.stages = 2, .quantum = {10}, .memory = memory_limit{memory_unit::byte, 25}};
  const shape twenty{.stages = 2, .quantum = {10}, .memory = memory_limit{memory_unit::token, 20}};
  const std::vector<sequence> batch = batch_view(four).sequences();
  const simulators::batch_quanta all(batch, on.quantum);
  const reads_prefixes cost{plain};
  const simulators::residence held(cost, on, batch, all, rates_of(cost, on).value());
  EXPECT_EQ(held.least_overhead(0, 150, 1, 1), overhead_of(plain, twenty, four, 150));
}

// One sequence of 40 tokens waits on stage 1 for itself: its quanta have 80, 60, 40 and 20 s of forward and backward,
// weight gradients apart, from themselves on, 10 tokens each: 2000. In a step of 120 s 40 x 120 - 40^2 x 3 / 2 = 2400
// are held; before the last part 800 and 1600: (sqrt(800) + sqrt(1600))^2 / (2400 - 2000) = 11.7, more than as a short
// sequence, (sqrt(2400) + sqrt(4800))^2 / 2400 = 5.8.
TEST(Residence, CountsWhatALongSequenceWaitsForItself) {
  const double root = std::sqrt(800.0) + std::sqrt(1600.0);
  EXPECT_NEAR(overhead_of(plain, {.stages = 2, .quantum = {10}}, {{40}}, 120), root * root / 400, 1e-9);
}

// A message of 3 s there and back, and packs of 2 s on both stages in both passes, of which half on stage 0: 6 + 2 x 3
// s for each of 40 tokens.
TEST(Residence, CountsMessagesAndOverheadOnTheWay) {
  constexpr costs::quadratic cost{.linear = 1, .attention = 0, .per_pack = {2}, .hop = {3}};
  const double root = std::sqrt(2400.0) + std::sqrt(4800.0);
  EXPECT_NEAR(overhead_of(cost, {.stages = 2, .quantum = {10}}, four, 150), root * root / (3600 - 40 * 12), 1e-9);
}

}  // namespace
}  // namespace slimpack::residence_test
