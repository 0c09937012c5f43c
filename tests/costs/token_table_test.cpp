#include <slimpack/costs/kernels/token_table.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace slimpack::token_table_test {
namespace {

using costs::token_table;

TEST(TokenTable, RunsStraightBetweenMeasurements) {
  const token_table table({{{100}, {3}}, {{200}, {4}}, {{400}, {8}}});
  EXPECT_DOUBLE_EQ(table({100}).value, 3);
  EXPECT_DOUBLE_EQ(table({150}).value, 3.5);
  EXPECT_DOUBLE_EQ(table({200}).value, 4);
  EXPECT_DOUBLE_EQ(table({300}).value, 6);
}

TEST(TokenTable, GrowsInProportionAboveTheLargest) {
  const token_table table({{{100}, {3}}, {{200}, {4}}});
  EXPECT_DOUBLE_EQ(table({800}).value, 16);  // 4 x 800 / 200
}

TEST(TokenTable, FollowsItsFirstLineBelowTheLeast) {
  const token_table table({{{100}, {3}}, {{200}, {4}}});
  EXPECT_DOUBLE_EQ(table({50}).value, 2.5);  // 3 - 50 x 1 / 100
}

TEST(TokenTable, TakesNoLessThanItsShareBelowTheLeast) {
  const token_table table({{{100}, {3}}, {{200}, {9}}});  // the line would reach 0 at 50 tokens
  EXPECT_DOUBLE_EQ(table({50}).value, 1.5);
}

TEST(TokenTable, TellsTheLeastTimeOfAToken) {
  const token_table table({{{100}, {3}}, {{200}, {4}}, {{400}, {10}}});
  EXPECT_DOUBLE_EQ(table.rate().value, 0.02);  // 4 / 200; the others 0.03 and 0.025
}

TEST(TokenTable, TellsMeasuredFromFilledIn) {
  const token_table table({{{100}, {3}}, {{200}, {4}}});
  EXPECT_EQ(table.source({200}), costs::origin::measured);
  EXPECT_EQ(table.source({150}), costs::origin::interpolated);
  EXPECT_EQ(table.source({1}), costs::origin::extrapolated);
  EXPECT_EQ(table.source({201}), costs::origin::extrapolated);
}

TEST(TokenTable, TakesTheMedianOfSeveralTimes) {
  const token_table table({{{100}, {9}}, {{100}, {3}}, {{100}, {4}}});
  EXPECT_DOUBLE_EQ(table({100}).value, 4);
}

TEST(TokenTable, NeverFallsAndNeverUndercutsItsRate) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    testing::generator random(seed);
    std::vector<token_table::point> points;
    for (std::int64_t size = random.between(1, 100); size < 100000; size += random.between(1, 2 * size))
      points.push_back({{size}, {1e-5 + 1e-7 * static_cast<double>(size) * (0.5 + random.ratio())}});
    const token_table table(points);
    seconds before{};
    for (std::int64_t size = 1; size < 300000; size += random.between(1, 1000)) {
      const seconds here = table({size});
      EXPECT_GE(here, before) << size << " tokens, seed " << seed;
      EXPECT_GE(here.value, table.rate().value * static_cast<double>(size) * (1 - 1e-12))
          << size << " tokens, seed " << seed;
      before = here;
    }
  }
}

TEST(TokenTable, SaysHowMuchItChangedMeasurementsThatFall) {
  EXPECT_EQ(token_table({{{100}, {3}}, {{200}, {4}}}).largest_change(), 0);
  // Between 4 before and 2 after both become 3: changes of 1/4 and 1/2.
  EXPECT_DOUBLE_EQ(token_table({{{100}, {4}}, {{200}, {2}}}).largest_change(), 0.5);
}

}  // namespace
}  // namespace slimpack::token_table_test
