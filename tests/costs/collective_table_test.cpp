#include <slimpack/costs/network/collective_table.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace slimpack::collective_table_test {
namespace {

using costs::collective;
using costs::collective_sample;
using costs::collective_table;
using costs::origin;
using costs::rank_group;
using samples = std::vector<collective_sample>;

collective_sample sample(collective op, int ranks, int per_node, double size, double time) {
  return {"X100", "", op, ranks, per_node, {size}, {time}};
}
/// 10 B, 20 B, 40 B ... take the given times.
samples doubling(collective op, int ranks, int per_node, const std::vector<double>& times) {
  samples all;
  double size = 10;
  for (const double t : times) all.push_back(sample(op, ranks, per_node, size, t)), size *= 2;
  return all;
}
samples operator+(samples a, const samples& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
seconds at(const collective_table& table, collective op, const rank_group& group, double size) {
  return table(op, group, {size}).value().time;
}
const rank_group pair_inside{2, 1, 1};

TEST(CollectiveTable, GivesWhatWasMeasuredAndALineBetween) {
  const collective_table table = collective_table::make(doubling(collective::all_reduce, 2, 8, {1, 2, 5})).value();
  EXPECT_EQ(at(table, collective::all_reduce, pair_inside, 10), seconds{1});
  EXPECT_EQ(at(table, collective::all_reduce, pair_inside, 20), seconds{2});
  EXPECT_EQ(at(table, collective::all_reduce, pair_inside, 25), seconds{2.75});  // 2 + 3 x 5 / 20
  EXPECT_EQ(table(collective::all_reduce, pair_inside, {20})->source, origin::measured);
  EXPECT_EQ(table(collective::all_reduce, pair_inside, {25})->source, origin::interpolated);
}

TEST(CollectiveTable, GrowsAsOverTheLastDoublingAndShrinksToTheLeast) {
  const collective_table table = collective_table::make(doubling(collective::all_reduce, 2, 8, {1, 2, 5})).value();
  EXPECT_EQ(at(table, collective::all_reduce, pair_inside, 100), seconds{14});  // 5 + 60 x 3 / 20
  EXPECT_EQ(at(table, collective::all_reduce, pair_inside, 1), seconds{1});
  EXPECT_EQ(table(collective::all_reduce, pair_inside, {100})->source, origin::extrapolated);
  EXPECT_EQ(table(collective::all_reduce, pair_inside, {1})->source, origin::extrapolated);
}

// 40 s before 20 s: |t / 40 - 1| + |t / 20 - 1| is least at 20 s, which leaves the slow one 50 % off, a quarter of that
// a point.
TEST(CollectiveTable, DropsSlowSamplesThatLargerSizesBelie) {
  const collective_table table =
      collective_table::make(doubling(collective::all_reduce, 2, 8, {10, 40, 20, 50})).value();
  EXPECT_EQ(at(table, collective::all_reduce, pair_inside, 10), seconds{10});
  EXPECT_EQ(at(table, collective::all_reduce, pair_inside, 20), seconds{20});
  EXPECT_EQ(at(table, collective::all_reduce, pair_inside, 40), seconds{20});
  EXPECT_EQ(at(table, collective::all_reduce, pair_inside, 80), seconds{50});
  EXPECT_DOUBLE_EQ(table.noise(), 0.125);
}

/// Sum of |t / measured - 1| of the nearest rising curve, over values that are measured ones: an optimum is among them.
double least_change(const std::vector<double>& measured) {
  std::vector<double> levels = measured;
  std::sort(levels.begin(), levels.end());
  std::vector<double> best(levels.size(), 0);  // up to here, ending at this level or below
  for (const double m : measured)
    for (std::size_t i = 0; i < levels.size(); ++i) {
      best[i] += std::abs(levels[i] / m - 1);
      if (i > 0) best[i] = std::min(best[i], best[i - 1]);
    }
  return best.back();
}

TEST(CollectiveTable, ChangesNoisyTimesAsLittleAsRisingAllows) {
  testing::generator random(11);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> times;
    for (int i = 0; i < 12; ++i) times.push_back(1 + i * 0.2 + 3 * random.ratio());
    const collective_table table = collective_table::make(doubling(collective::all_gather, 2, 2, times)).value();
    EXPECT_NEAR(table.noise() * 12, least_change(times), 1e-9) << "seed 11";
  }
}

TEST(CollectiveTable, CountsRepeatedMeasurementsByTheirMedian) {
  const samples twice = doubling(collective::all_reduce, 2, 8, {1, 9}) + doubling(collective::all_reduce, 2, 8, {3, 9});
  EXPECT_EQ(at(collective_table::make(twice).value(), collective::all_reduce, pair_inside, 10), seconds{2});
}

TEST(CollectiveTable, RunsAlongTheLogarithmBetweenNumbersOfRanks) {
  const collective_table table = collective_table::make(doubling(collective::all_gather, 2, 8, {1, 1.5}) +
                                                        doubling(collective::all_gather, 8, 8, {3, 4.5}))
                                     .value();
  EXPECT_DOUBLE_EQ(at(table, collective::all_gather, {4, 1, 1}, 10).value, 2);
  EXPECT_DOUBLE_EQ(at(table, collective::all_gather, {4, 1, 1}, 20).value, 3);
  EXPECT_EQ(table(collective::all_gather, {4, 1, 1}, {20})->source, origin::interpolated);
}

// From 4 ranks to 8: a tree is 3 instead of 2 deep, with the launch 4/3 of 3 s; of the 6 s of bytes an all-reduce moves
// 7/4 instead of 3/2. An all-to-all starts as fast, and moves 7/8 instead of 3/4.
TEST(CollectiveTable, AddsStepsAndTrafficBeyondTheMeasuredRanks) {
  const collective_table table = collective_table::make(doubling(collective::all_reduce, 4, 8, {3, 9}) +
                                                        doubling(collective::all_to_all, 4, 8, {3, 9}))
                                     .value();
  EXPECT_DOUBLE_EQ(at(table, collective::all_reduce, {8, 1, 1}, 20).value, 4 + 7);
  EXPECT_DOUBLE_EQ(at(table, collective::all_to_all, {8, 1, 1}, 20).value, 3 + 7);
  EXPECT_EQ(table(collective::all_reduce, {8, 1, 1}, {20})->source, origin::extrapolated);
}

// Measured on 2 nodes with 1 and with 4 ranks each. 2 ranks a node are as far from both, and the first counts: from 2
// to 4 ranks 3/2 of 1 s and 3/2 of 9 s over 2 adapters. 16 ranks on 2 nodes: 5/4 of 2 s, 15/14 of 4 s over 8 adapters,
// not 4.
TEST(CollectiveTable, SharesTheAdaptersOfANode) {
  const collective_table table = collective_table::make(doubling(collective::all_reduce, 2, 1, {1, 10}) +
                                                        doubling(collective::all_reduce, 8, 4, {2, 6}))
                                     .value();
  EXPECT_EQ(at(table, collective::all_reduce, {2, 2, 2}, 20), seconds{10});
  EXPECT_EQ(at(table, collective::all_reduce, {8, 2, 2}, 20), seconds{6});
  EXPECT_DOUBLE_EQ(at(table, collective::all_reduce, {4, 2, 2}, 20).value, 1.5 + 9 * 1.5 / 2);
  EXPECT_DOUBLE_EQ(at(table, collective::all_reduce, {16, 2, 2}, 20).value, 2.5 + 4 * (15.0 / 14) / 2);
}

// 2 ranks: 2 x 1/2 x 20 B in 2 s. 4 ranks of a box wired in pairs: 2 x 3/4 x 20 B in 12 s, a quarter of the bandwidth.
TEST(CollectiveTable, FindsWhereFastLinksEnd) {
  const samples pairs = doubling(collective::all_reduce, 2, 4, {1, 2});
  EXPECT_EQ(collective_table::make(pairs + doubling(collective::all_reduce, 4, 4, {2, 12})).value().island(), 2);
  EXPECT_EQ(collective_table::make(pairs + doubling(collective::all_reduce, 4, 4, {2, 3})).value().island(),
            std::nullopt);
}

// Ranks 0 and 2 of that box share no fast link, so what 4 ranks take counts for them: 2/3 of 2 s, and 2/3 of 10 s.
TEST(CollectiveTable, TakesNoPairForASwitch) {
  const collective_table table = collective_table::make(doubling(collective::all_reduce, 2, 4, {1, 2}) +
                                                        doubling(collective::all_reduce, 4, 4, {2, 12}))
                                     .value();
  EXPECT_EQ(at(table, collective::all_reduce, {2, 1, 1}, 20), seconds{2});
  EXPECT_DOUBLE_EQ(at(table, collective::all_reduce, {2, 1, 2}, 20).value, 8);
  EXPECT_DOUBLE_EQ(at(table, collective::all_reduce, {3, 1, 2}, 20).value, 2 + 10 * (4.0 / 3) / 1.5);
}

TEST(CollectiveTable, KnowsNothingOfOtherOperationsAndPlaces) {
  const collective_table table = collective_table::make(doubling(collective::all_reduce, 2, 8, {1, 2})).value();
  EXPECT_FALSE(table(collective::all_gather, pair_inside, {10}));
  EXPECT_FALSE(table(collective::all_reduce, {2, 2, 2}, {10}));
  EXPECT_FALSE(table(collective::all_reduce, {2, 1, 2}, {10}));
}

TEST(CollectiveTable, DependsOnNoOrderOfMeasurements) {
  samples all = doubling(collective::all_reduce, 2, 8, {3, 1, 2}) + doubling(collective::all_reduce, 8, 8, {5, 4, 9});
  const collective_table table = collective_table::make(all).value();
  std::reverse(all.begin(), all.end());
  const collective_table other = collective_table::make(all).value();
  for (const int ranks : {2, 4, 8, 16})
    for (const double size : {1.0, 15.0, 30.0, 100.0})
      EXPECT_EQ(at(table, collective::all_reduce, {ranks, 1, 1}, size),
                at(other, collective::all_reduce, {ranks, 1, 1}, size));
}

std::string refusal(const samples& all) {
  const result<collective_table> made = collective_table::make(all);
  if (made) return "no error";
  EXPECT_EQ(made.error().code, errc::invalid_input);
  return made.error().detail;
}

TEST(CollectiveTable, RefusesWhatIsNoMeasurement) {
  const std::string what = "all_reduce of 2 ranks, 8 a node, X100: ";
  EXPECT_EQ(refusal({}), "no times of collectives");
  EXPECT_EQ(refusal({sample(collective::all_reduce, 2, 8, 10, 1)}),
            what + "times of one size only say nothing of others");
  EXPECT_EQ(refusal({sample(collective::all_reduce, 2, 8, 10, 0)}), what + "its time must be more than 0 s");
  EXPECT_EQ(refusal({sample(collective::all_reduce, 2, 8, 10, NAN)}), what + "its time must be more than 0 s");
  EXPECT_EQ(refusal({sample(collective::all_reduce, 2, 8, -1, 1)}), what + "its size must be more than 0 bytes");
  EXPECT_EQ(refusal({sample(collective::all_reduce, 2, 0, 10, 1)}),
            "all_reduce of 2 ranks, 0 a node, X100: a node needs at least 1 rank");
  EXPECT_EQ(refusal({sample(collective::all_reduce, 1, 8, 10, 1)}),
            "all_reduce of 1 ranks, 8 a node, X100: a collective needs at least 2 ranks");
}

}  // namespace
}  // namespace slimpack::collective_table_test
