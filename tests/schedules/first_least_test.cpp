#include <slimpack/schedules/detail/first_least.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace slimpack::first_least_test {
namespace {

TEST(FirstLeast, IsThatOfTheStandardLibrary) {
  testing::generator random(69);
  for (int i = 0; i < 300; ++i) {
    std::vector<double> times(1 + static_cast<std::size_t>(20 * random.ratio()));
    for (double& t : times) t = std::floor(4 * random.ratio());  // many are equal
    if (random.once_in(2)) times[0] = std::numeric_limits<double>::infinity();
    const auto first = std::min_element(times.begin(), times.end());
    EXPECT_EQ(detail::first_least(times), static_cast<std::size_t>(first - times.begin())) << "seed 69";
  }
}

// As where every stage waits.
TEST(FirstLeast, IsTheFirstWhereNoneIsFinite) {
  const std::vector<double> never(3, std::numeric_limits<double>::infinity());
  EXPECT_EQ(detail::first_least(never), 0U);
}

}  // namespace
}  // namespace slimpack::first_least_test
