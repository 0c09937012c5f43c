#include <slimpack/solvers/milp/cbc.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"
#include "fits_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stop_token>
#include <vector>

namespace slimpack::cbc_test {
namespace {

using detail::linear_sum;
using detail::milp_model;

/// Which of some things to take, so that they weigh no less than half of all and their price is least. All is a start.
struct knapsack {
  milp_model model;
  std::vector<double> start;
  std::vector<double> weights;
  std::vector<double> prices;

  explicit knapsack(std::uint64_t seed) {
    testing::generator random(seed);
    const auto things = static_cast<std::size_t>(random.between(4, 10));
    double all = 0;
    double dear = 0;
    for (std::size_t i = 0; i < things; ++i) {
      weights.push_back(static_cast<double>(random.between(1, 50)));
      prices.push_back(static_cast<double>(random.between(1, 50)));
      all += weights.back(), dear += prices.back();
    }
    const linear_sum price = model.number(1, dear, 1);
    linear_sum sum, taken;
    for (std::size_t i = 0; i < things; ++i) {
      const linear_sum own = model.binary();
      sum.add(own, prices[i]), taken.add(own, weights[i]);
    }
    model.at_least(price, sum);
    model.at_least(taken, all / 2);
    start.assign(things + 1, 1);
    start[0] = dear;
  }

  [[nodiscard]] double least() const {
    double all = 0;
    for (const double w : weights) all += w;
    double best = std::numeric_limits<double>::infinity();
    for (std::uint32_t set = 0; set < 1u << weights.size(); ++set) {
      double weight = 0;
      double price = 0;
      for (std::size_t i = 0; i < weights.size(); ++i)
        if ((set >> i & 1) != 0) weight += weights[i], price += prices[i];
      if (weight >= all / 2) best = std::min(best, price);
    }
    return best;
  }
};

TEST(Cbc, FindsTheLeastOfAllChoices) {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(tests::cases(20)); ++seed) {
    const knapsack k(seed);
    ASSERT_TRUE(tests::fits_rows(k.model, k.start)) << "seed " << seed;
    const detail::milp_found found = detail::search_with_cbc(k.model, k.start, {.gap = 0}, {});
    const double least = k.least();
    ASSERT_FALSE(found.values.empty()) << "seed " << seed;
    EXPECT_TRUE(tests::fits_rows(k.model, found.values)) << "seed " << seed;
    EXPECT_NEAR(tests::objective_of(k.model, found.values), least, 1e-6) << "seed " << seed;
    EXPECT_NEAR(found.bound, least, 1e-6) << "seed " << seed;
  }
}

TEST(Cbc, SaysNothingOfAStartThatIsTheBest) {
  milp_model model;
  const linear_sum x = model.number(3, 10, 1);
  model.at_least(x + model.binary(), 4);  // 3 + 1 = 4
  const detail::milp_found found = detail::search_with_cbc(model, {3, 1}, {.gap = 0}, {});
  EXPECT_TRUE(found.values.empty());
  EXPECT_NEAR(found.bound, 3, 1e-9);
}

TEST(Cbc, ProvesNoMoreThanTheGapAsksFor) {
  const knapsack k(2);
  const detail::milp_found found = detail::search_with_cbc(k.model, k.start, {.gap = 1}, {});
  const double best = found.values.empty() ? k.start[0] : found.values[0];
  EXPECT_LE(found.bound, best - 1);  // of a floor of 1
  EXPECT_LE(found.bound, k.least());
}

TEST(Cbc, EndsWhereItIsAskedTo) {
  std::stop_source source;
  source.request_stop();
  const knapsack k(3);
  const detail::milp_found found = detail::search_with_cbc(k.model, k.start, {.gap = 0}, source.get_token());
  EXPECT_EQ(found.nodes, 0);
  EXPECT_LE(found.bound, k.least());
}

}  // namespace
}  // namespace slimpack::cbc_test
