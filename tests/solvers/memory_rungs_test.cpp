#include <slimpack/solvers/assembly/detail/memory_rungs.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace slimpack::memory_rungs_test {
namespace {

using detail::memory_rungs;

// A quantum of 10 tokens takes 10 (2 + 1) = 30 on the second stage; 100 are fixed on the first. Rungs are 130, 133.75,
// 137.96875, ...: 100 + 30 (9/8)^j.
const shape on{.stages = 2, .quantum = {10}};
const std::vector<memory_rates> rates{{.fixed = 100, .live_token = 1},
                                      {.fixed = 0, .live_token = 2, .gradient_token = 1}};

TEST(MemoryRungs, AreTheSameBelowEveryLimit) {
  const memory_rungs rungs(on, rates);
  EXPECT_EQ(rungs.below(130), std::nullopt) << "a rung is below its limit";
  EXPECT_EQ(rungs.below(130.01), 130);
  EXPECT_EQ(rungs.below(137), 133.75);
  EXPECT_EQ(rungs.below(138), 137.96875);
  double above = 0;
  for (double limit = 130.5; limit < 5000; limit *= 1.03) {
    const double rung = rungs.below(limit).value();
    EXPECT_LT(rung, limit);
    EXPECT_GT(100 + (rung - 100) * 1.125 * (1 + 1e-12), limit);
    EXPECT_GE(rung, above);
    if (rung > above && above > 0) {
      EXPECT_NEAR((rung - 100) / (above - 100), 1.125, 1e-12);
    }
    above = rung;
  }
}

TEST(MemoryRungs, AreNoneWhereNothingTakesMemory) {
  EXPECT_EQ(memory_rungs(on, std::vector<memory_rates>{{.fixed = 5, .live_token = 0}}).below(1000), std::nullopt);
}

}  // namespace
}  // namespace slimpack::memory_rungs_test
