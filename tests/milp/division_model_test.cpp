#include <slimpack/solvers/milp/division_model.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"
#include "fits_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace slimpack::division_model_test {
namespace {

using detail::milp_division;
using placement = milp_division::placement;

struct division {
  std::vector<milp_division::item> items;
  std::uint32_t replicas{};

  explicit division(testing::generator& random) : replicas(static_cast<std::uint32_t>(random.between(1, 4))) {
    for (std::int64_t n = random.between(1, 6); n > 0; --n) {
      const auto most = static_cast<std::uint32_t>(random.between(1, replicas));
      const auto least = static_cast<std::uint32_t>(random.between(1, most));
      items.push_back(
          {static_cast<double>(random.between(1, 1000)), static_cast<double>(random.between(1, 1000)), least, most});
    }
  }

  [[nodiscard]] placement anyhow(testing::generator& random) const {
    placement found;
    for (const milp_division::item& i : items) {
      std::vector<std::uint32_t> all(replicas);
      std::iota(all.begin(), all.end(), 0u);
      for (std::size_t k = all.size(); k > 1; --k)
        std::swap(all[k - 1], all[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(k) - 1))]);
      all.resize(static_cast<std::size_t>(random.between(i.least, i.most)));
      std::sort(all.begin(), all.end());
      found.push_back(all);
    }
    return found;
  }

  [[nodiscard]] double largest_load(const placement& of) const {
    std::vector<double> load(replicas);
    for (std::size_t i = 0; i < items.size(); ++i)
      for (const std::uint32_t g : of[i]) load[g] += items[i].work / static_cast<double>(of[i].size());
    return *std::max_element(load.begin(), load.end());
  }
};

// No placement is left out by the order in which replicas are used, and the objective is its largest load.
TEST(MilpDivision, HoldsEveryPlacement) {
  testing::generator random(1);
  for (int n = tests::cases(200); n > 0; --n) {
    const division of(random);
    const milp_division program(of.items, of.replicas);
    const placement known = of.anyhow(random);
    const std::vector<double> values = program.values_of(known);
    ASSERT_TRUE(tests::fits_rows(program.model(), values)) << n;
    const double load = of.largest_load(known);
    EXPECT_GE(program.load_of(tests::objective_of(program.model(), values)), load * (1 - 2e-6) - 1e-2) << n;
    EXPECT_LE(program.load_of(tests::objective_of(program.model(), values)), load * (1 + 1e-12)) << n;
    const placement again = program.placement_of(values);
    EXPECT_NEAR(of.largest_load(again), load, 1e-9 * load) << n;
    for (std::size_t i = 0; i < known.size(); ++i) EXPECT_EQ(again[i].size(), known[i].size()) << n;
  }
}

TEST(MilpDivision, DoesNotHoldALoadThatIsTooSmall) {
  const std::vector<milp_division::item> items{{6, 1}, {4, 1}};
  const milp_division program(items, 2);
  std::vector<double> values = program.values_of({{0}, {1}});
  EXPECT_NEAR(values[0], 0.6, 1e-12);  // 6 of 10
  values[0] = 0.5;
  EXPECT_FALSE(tests::fits_rows(program.model(), values));
}

// 12 of 18 may be shared by up to three of three replicas: by two, whose parts are the mean of 6 each.
TEST(MilpDivision, BeginsWithPartsNoLargerThanTheMean) {
  const std::vector<milp_division::item> items{{12, 1, 1, 3}, {4, 1}, {2, 1}};
  const milp_division program(items, 3);
  const placement begun = program.balanced();
  EXPECT_EQ(begun[0].size(), 2u);
  EXPECT_EQ(begun[1], (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(begun[2], (std::vector<std::uint32_t>{2}));
}

TEST(MilpDivision, BeginsWithAPlacement) {
  testing::generator random(2);
  for (int n = tests::cases(200); n > 0; --n) {
    const division of(random);
    const milp_division program(of.items, of.replicas);
    const placement begun = program.balanced();
    for (std::size_t i = 0; i < begun.size(); ++i) {
      EXPECT_GE(begun[i].size(), of.items[i].least) << n;
      EXPECT_LE(begun[i].size(), of.items[i].most) << n;
    }
    EXPECT_TRUE(tests::fits_rows(program.model(), program.values_of(begun))) << n;
  }
}

}  // namespace
}  // namespace slimpack::division_model_test
