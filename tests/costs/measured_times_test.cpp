#include <slimpack/costs/kernels/detail/measured_times.hpp>

#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <vector>

namespace measured_times_test {
namespace {

using slimpack::detail::make_monotone;
using slimpack::detail::rising_place;

bool before(const rising_place& a, const rising_place& b) {
  return a.alike == b.alike && a.first <= b.first && a.second <= b.second;
}

// The definition, pair by pair.
TEST(MakeMonotone, TakesTheMeanOfTheLargestBeforeAndTheSmallestAfter) {
  slimpack::testing::generator random(3);
  for (int trial = 0; trial < 100; ++trial) {
    const auto count = static_cast<std::size_t>(random.between(1, 60));
    std::vector<rising_place> places;
    std::vector<double> times;
    for (std::size_t i = 0; i < count; ++i) {
      places.push_back({{random.between(0, 2)}, random.between(1, 8), random.between(1, 8)});
      times.push_back(0.1 + random.ratio());
    }
    std::vector<double> expected;
    double largest = 0;
    for (std::size_t j = 0; j < count; ++j) {
      double most = times[j], least = times[j];
      for (std::size_t i = 0; i < count; ++i) {
        if (before(places[i], places[j])) most = std::max(most, times[i]);
        if (before(places[j], places[i])) least = std::min(least, times[i]);
      }
      expected.push_back((most + least) / 2);
      largest = std::max(largest, std::abs(expected[j] / times[j] - 1));
    }
    ASSERT_EQ(make_monotone(times, places), largest) << "seed 3, trial " << trial;
    ASSERT_EQ(times, expected) << "seed 3, trial " << trial;
  }
}

// Eight times the places take eight times as long and a little more, not 64 times.
TEST(MakeMonotone, GrowsWithThePlacesNotTheirSquare) {
  const auto seconds_for = [](int count) {
    slimpack::testing::generator random(5);
    std::vector<rising_place> places;
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
      places.push_back({{1}, random.between(1, 1 << 20), random.between(1, 1 << 20)});
      times.push_back(1 + random.ratio());
    }
    const std::clock_t begin = std::clock();  // processor time: others run beside
    EXPECT_GT(make_monotone(times, places), 0);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  seconds_for(4000);  // warm
  const double few = std::max(seconds_for(4000), 1e-3);
  EXPECT_LT(seconds_for(32000), 30 * few);
}

}  // namespace
}  // namespace measured_times_test
