#include <slimpack/costs/kernels/time_table.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

namespace slimpack::time_table_test {
namespace {

using costs::time_table;
using points = std::vector<time_table::point>;

/// a + b q + c q (2 k - q + 1) / 2 with k = p + q: what the table does not know.
struct truth {
  double a{2e-4};
  double b{3e-6};
  double c{5e-10};
  [[nodiscard]] double operator()(std::int64_t q, std::int64_t p) const {
    return a + b * static_cast<double>(q) + c * static_cast<double>(q) * static_cast<double>(2 * (p + q) - q + 1) / 2;
  }
};

/// Every q and k >= q among 128, 256, ... 65536, with a relative error of up to `noise`.
points grid_of(const truth& t, double noise, std::uint64_t seed) {
  testing::generator random(seed);
  points all;
  for (std::int64_t q = 128; q <= 65536; q *= 2)
    for (std::int64_t k = q; k <= 65536; k *= 2)
      all.push_back({{q}, {k - q}, {t(q, k - q) * (1 + noise * (2 * random.ratio() - 1))}});
  return all;
}

TEST(TimeTable, GivesWhatWasMeasured) {
  const points all = grid_of({}, 0, 1);
  const time_table table(all);
  for (const time_table::point& m : all) EXPECT_DOUBLE_EQ(table(m.queries, m.prefix).value, m.time.value);
  EXPECT_LT(table.largest_change(), 1e-12);
}

TEST(TimeTable, IsExactOnTheFittedShapeInsideAndOutside) {
  for (const truth& t :
       {truth{}, truth{.a = 0}, truth{.b = 0}, truth{.c = 0}, truth{.a = 0, .b = 0}, truth{.b = 0, .c = 0}}) {
    const time_table table(grid_of(t, 0, 1));
    testing::generator random(2);
    for (int i = tests::cases(1000); i > 0; --i) {
      const std::int64_t q = random.length({1 << 20}).value;
      const std::int64_t p = random.length({1 << 20}).value - 1;
      EXPECT_NEAR(table({q}, {p}).value / t(q, p), 1, 1e-6) << q << " queries, prefix " << p << ", seed 2";
    }
  }
}

// At most the noise is found between measurements; outside, a fit from 55 of them adds its own error.
TEST(TimeTable, FindsTimesBetweenNoisyMeasurementsWithin3Percent) {
  double inside = 0;
  double outside = 0;
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(tests::cases(20)); ++seed) {
    testing::generator random(seed);
    const truth t{.a = 1e-3 * random.ratio(), .b = 1e-5 * random.ratio(), .c = 1e-9 * random.ratio()};
    const time_table table(grid_of(t, 0.02, seed));
    for (int i = 0; i < 1000; ++i) {
      const std::int64_t q = random.between(128, random.once_in(2) ? 65536 : 1024);
      const std::int64_t p = random.between(0, 65536 - q);
      inside = std::max(inside, std::abs(table({q}, {p}).value / t(q, p) - 1));
      const std::int64_t deep = random.between(65536, 4 * 65536);
      outside = std::max(outside, std::abs(table({q}, {deep}).value / t(q, deep) - 1));
      outside = std::max(outside, std::abs(table({deep}, {p}).value / t(deep, p) - 1));
    }
  }
  std::cout << "2 % noise, grid factor 2: at most " << 100 * inside << " % off between measurements, " << 100 * outside
            << " % off up to 4 times beyond them\n";
  EXPECT_LT(inside, 0.03);
  EXPECT_LT(outside, 0.06);
}

// 10 s at 100 tokens, 5 s at 200: both become (10 + 5) / 2 = 7.5 s; that is 50 % more than 5 s.
TEST(TimeTable, MakesTimesThatFallLevelAndReportsIt) {
  const time_table table(points{{{100}, {0}, {10}}, {{200}, {0}, {5}}, {{400}, {0}, {20}}});
  EXPECT_EQ(table({100}, {0}), seconds{7.5});
  EXPECT_EQ(table({200}, {0}), seconds{7.5});
  EXPECT_EQ(table({400}, {0}), seconds{20});
  EXPECT_DOUBLE_EQ(table.largest_change(), 0.5);
}

TEST(TimeTable, NeverFallsWhateverWasMeasured) {
  testing::generator random(3);
  for (int i = tests::cases(100); i > 0; --i) {
    points all;
    for (std::int64_t n = random.between(1, 30); n > 0; --n)
      all.push_back({random.length({4096}), random.length({4096}) - tokens{1}, {0.001 + random.ratio()}});
    const time_table table(all);
    for (int k = 0; k < 200; ++k) {
      const tokens q = random.length({16384});
      const tokens p = random.length({16384}) - tokens{1};
      const tokens more = random.length({4096});
      const double t = table(q, p).value;
      EXPECT_GT(t, 0);
      for (const double u : {table(q + more, p).value, table(q, p + more).value})
        EXPECT_GE(u, t * (1 - 1e-12)) << q.value << " behind " << p.value << ", then " << more.value << " more, seed 3";
    }
  }
}

TEST(TimeTable, CountsRepeatedMeasurementsByTheirMedian) {
  const time_table odd(points{{{100}, {0}, {9}}, {{100}, {0}, {2}}, {{100}, {0}, {3}}});
  EXPECT_EQ(odd({100}, {0}), seconds{3});
  const time_table even(points{{{100}, {0}, {2}}, {{100}, {0}, {4}}});
  EXPECT_EQ(even({100}, {0}), seconds{3});
}

TEST(TimeTable, DependsOnNoOrderOfMeasurements) {
  points all = grid_of({}, 0.02, 4);
  const time_table table(all);
  std::reverse(all.begin(), all.end());
  EXPECT_EQ(time_table(all), table);
}

// One time says nothing of its growth: it is taken to be that of the queries.
TEST(TimeTable, OfOneMeasurementGrowsWithTheQueries) {
  const time_table table(points{{{128}, {0}, {1}}});
  EXPECT_EQ(table({128}, {0}), seconds{1});
  EXPECT_DOUBLE_EQ(table({64}, {0}).value, 0.5);
  EXPECT_DOUBLE_EQ(table({1280}, {5000}).value, 10);
}

TEST(TimeTable, OfSlicesThatTakeNoTimeSaysSo) {
  const time_table none(grid_of({0, 0, 0}, 0, 1));
  for (const std::int64_t q : {1, 100, 128, 1 << 20})
    for (const std::int64_t p : {0, 77, 1 << 20}) {
      EXPECT_EQ(none({q}, {p}), seconds{});
      EXPECT_EQ(none.least({q}, {p}), seconds{});
    }
  EXPECT_EQ(none.largest_change(), 0);
  EXPECT_EQ(none, time_table(points{{{64}, {0}, {}}}));
}

/// Coefficients of many sizes; dense attention, causal kernels, none of the prefix, and any other are among them.
costs::slice_growth growth_of(testing::generator& random) {
  const auto any = [&](double most) { return seconds{random.once_in(4) ? 0 : most * random.ratio()}; };
  costs::slice_growth g{any(1e-3), any(1e-5), any(1e-8), any(1e-8), any(1e-6)};
  if (random.once_in(3)) g.own = g.pair;
  if (random.once_in(3)) g.own = g.pair * 0.5;
  if (!g.has_time()) g.token = {1e-6};
  return g;
}

/// Places at random, or with times that the growth does not explain.
points places_of(const costs::slice_growth& g, double noise, testing::generator& random) {
  points all;
  for (std::int64_t n = random.between(1, 30); n > 0; --n) {
    const tokens q = random.length({4096}), p = random.length({4096}) - tokens{1};
    const double t = g(static_cast<double>(q.value), static_cast<double>(p.value));
    all.push_back({q, p, {t * (1 + noise * (2 * random.ratio() - 1))}});
  }
  return all;
}

TEST(GrowthOfATable, IsExactInsideAndOutside) {
  testing::generator random(5);
  for (int i = tests::cases(100); i > 0; --i) {
    const costs::slice_growth g = growth_of(random);
    const time_table table(places_of(g, 0, random), g);
    for (int k = 0; k < 50; ++k) {
      const tokens q = random.length({1 << 18}), p = random.length({1 << 18}) - tokens{1};
      const double t = g(static_cast<double>(q.value), static_cast<double>(p.value));
      EXPECT_NEAR(table(q, p).value / t, 1, 1e-9) << q.value << " queries, prefix " << p.value << ", seed 5";
    }
  }
}

TEST(GrowthOfATable, NeverFallsWhateverWasMeasured) {
  testing::generator random(6);
  for (int i = tests::cases(200); i > 0; --i) {
    const costs::slice_growth g = growth_of(random);
    const time_table table(places_of(g, random.ratio(), random), g);
    for (int k = 0; k < 200; ++k) {
      const tokens q = random.length({16384}), p = random.length({16384}) - tokens{1}, more = random.length({4096});
      const double t = table(q, p).value;
      EXPECT_GT(t, 0);
      for (const double u : {table(q + more, p).value, table(q, p + more).value})
        EXPECT_GE(u, t * (1 - 1e-12)) << q.value << " behind " << p.value << ", then " << more.value << " more, seed 6";
    }
  }
}

// However a slice is cut, the least of its cuts is that of the slice, and no cut takes less than its least.
TEST(GrowthOfATable, LeavesALeastThatAddsUpOverCuts) {
  testing::generator random(7);
  for (int i = tests::cases(300); i > 0; --i) {
    const costs::slice_growth g = growth_of(random);
    const time_table table(places_of(g, random.ratio(), random), g);
    for (int k = 0; k < 40; ++k) {
      const tokens q = random.length({16384}), p = random.length({16384}) - tokens{1};
      seconds parts{}, times{};
      for (tokens at{}; at < q;) {
        const tokens n = random.length(q - at);
        parts += table.least(n, p + at), times += table(n, p + at);
        EXPECT_LE(table.least(n, p + at).value, table(n, p + at).value * (1 + 1e-9)) << n.value << ", seed 7";
        at += n;
      }
      EXPECT_NEAR(parts.value, table.least(q, p).value, 1e-9 * table.least(q, p).value) << "seed 7";
      EXPECT_LE(table.least(q, p).value, times.value * (1 + 1e-9)) << q.value << " behind " << p.value << ", seed 7";
    }
  }
}

// Without noise nothing is lost but slices, prefixes, and what cuts may save: all of it of causal kernels.
TEST(GrowthOfATable, LeavesTheWholeTimeOfCausalKernels) {
  testing::generator random(8);
  const costs::slice_growth g{{}, {2e-6}, {4e-9}, {2e-9}, {}};
  const time_table table(places_of(g, 0, random), g);
  for (int k = 0; k < 100; ++k) {
    const tokens q = random.length({16384}), p = random.length({16384}) - tokens{1};
    EXPECT_NEAR(table.least(q, p) / table(q, p), 1, 1e-9) << "seed 8";
  }
}

// The shape that kernels have, said as a growth: launch + linear q + attention q (2 p + q + 1) / 2.
TEST(GrowthOfATable, IsThatOfTheFitWhereItSaysTheSame) {
  const truth t;
  const costs::slice_growth g{{t.a}, {t.b + t.c / 2}, {t.c}, {t.c / 2}, {}};
  const points all = grid_of(t, 0.0, 1);
  const time_table fitted(all), given(all, g);
  testing::generator random(9);
  for (int k = 0; k < 200; ++k) {
    const tokens q = random.length({1 << 18}), p = random.length({1 << 18}) - tokens{1};
    EXPECT_NEAR(given(q, p) / fitted(q, p), 1, 1e-6) << "seed 9";
    EXPECT_NEAR(given.least(q, p) / fitted.least(q, p), 1, 1e-6) << "seed 9";
  }
}

// Nothing can grow in proportion to no time: then the shape is fitted.
TEST(GrowthOfATable, IsFittedWhereAGrowthSaysNothing) {
  const points all = grid_of({}, 0.02, 1);
  EXPECT_EQ(time_table(all, costs::slice_growth{}), time_table(all));
  EXPECT_EQ(time_table(all, costs::slice_growth{{}, {}, {1e-9}, {}, {1e-9}}), time_table(all));
}

}  // namespace
}  // namespace slimpack::time_table_test
