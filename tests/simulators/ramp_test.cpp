#include <slimpack/simulators/bounds/ramp.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace slimpack::ramp_test {
namespace {

using simulators::ramp;

/// The way work that packs reach when a stage runs packs (0) and other instructions (1) in this order, each pack as
/// large as it can be after so much idleness, which is all spent before the first.
double reached(const ramp& r, double idle, std::uint32_t order, int instructions) {
  double way = 0, allowed = 0, others = 0;
  for (int i = 0; i < instructions; ++i) {
    if ((order >> i & 1) != 0) {
      allowed = way, others += 1;
      continue;
    }
    const double most =
        idle + (r.other + r.brought) * others + r.own_rate * way + (r.rate - r.own_rate) * allowed - r.constant;
    way += std::max(0.0, most);
  }
  return way;
}

/// The least loss over all orders of at most so many instructions, the last a pack.
double least_of_orders(const ramp& r, double amount, int most) {
  double best = std::numeric_limits<double>::infinity();
  for (int n = 1; n <= most; ++n) {
    for (std::uint32_t order = 0; order < 1u << (n - 1); ++order) {
      int others = 0;
      for (int i = 0; i < n; ++i) others += static_cast<int>(order >> i & 1);
      if (others < r.others) continue;
      double low = r.first, high = r.first + r.constant + amount;
      if (reached(r, low, order, n) >= amount) high = low;
      for (int i = 0; i < 40 && high > low; ++i) {
        const double middle = (low + high) / 2;
        (reached(r, middle, order, n) >= amount ? high : low) = middle;
      }
      best = std::min(best, high + r.other * others + r.own * (n - 1 - others));
    }
  }
  return best;
}

// Packs on their way for 1 + w bring nothing but what other instructions make of them, as much work as their way;
// overheads are 1. Idle for A, a pack of A - 1, another instruction, a pack of (A + 1) + (A - 1) - 1 = 2 A - 1:
// together 3 A - 2, so 6 asks for A = 8/3, and the loss is 8/3 + 1 + 1. The claim lets the first group have the other's
// overhead too: A = 1 + 6 / (2 * 2 - 1) = 3, of it 1 overhead, and 1 for the first pack.
TEST(Ramp, WeighsPacksAgainstIdleness) {
  const ramp r{.constant = 1, .first = 2, .rate = 1, .own = 1, .other = 1};
  EXPECT_NEAR(least_of_orders(r, 6, 8), 14.0 / 3, 1e-9);
  EXPECT_NEAR(r.least_loss(6), 4, 1e-9);
}

// One pack of all: it comes after its way, and nothing is smaller.
TEST(Ramp, IsOnePackWhereThatIsBest) {
  EXPECT_EQ((ramp{.constant = 1, .first = 2, .rate = 1, .own = 100, .other = 1}.least_loss(6)), 7);
  EXPECT_EQ((ramp{.constant = 1, .first = 2, .rate = 1, .own = 1, .other = 1}.least_loss(0)), 2);
}

TEST(Ramp, NoOrderOfInstructionsLosesLess) {
  testing::generator random(201);
  double closest = std::numeric_limits<double>::infinity();
  for (int i = tests::cases(60); i > 0; --i) {
    ramp r{.constant = 2 * random.ratio(),
           .rate = 2 * random.ratio(),
           .own = 0.1 + random.ratio(),
           .other = random.ratio()};
    r.first = r.constant + random.ratio();
    if (random.once_in(2)) r.own_rate = r.rate * random.ratio();
    if (random.once_in(3)) r.brought = 3 * random.ratio(), r.others = 1, r.first = 0;
    const double amount = 20 * random.ratio();
    const double least = least_of_orders(r, amount, 10);
    EXPECT_LE(r.least_loss(amount), least * (1 + 1e-9)) << "seed 201, case " << i;
    closest = std::min(closest, least / r.least_loss(amount));
  }
  EXPECT_LT(closest, 1.001) << "the claim is never tight, seed 201";
}

TEST(Ramp, LosesMoreForMore) {
  const ramp r{.constant = 1, .first = 2, .rate = 0.3, .own = 0.2, .other = 0.1};
  for (double amount = 0; amount < 1e6; amount = 2 * amount + 1)
    EXPECT_LE(r.least_loss(amount), r.least_loss(2 * amount + 1)) << amount;
}

}  // namespace
}  // namespace slimpack::ramp_test
