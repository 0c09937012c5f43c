#include <slimpack/costs/kernels/product_table.hpp>
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <vector>

namespace slimpack::product_table_test {
namespace {

using costs::origin;
using costs::product_sample;
using costs::product_table;
using samples = std::vector<product_sample>;

const costs::wave_model model{costs::gpus::a100()};

product_sample sample(std::int64_t m, std::int64_t n, std::int64_t k, double slower) {
  return {"A100", m, n, k, model.product(m, n, k) * slower};
}
samples grid(double slower) {
  samples all;
  for (std::int64_t m = 128; m <= 8192; m *= 2)
    for (std::int64_t n = 1024; n <= 8192; n *= 2)
      for (std::int64_t k = 1024; k <= 8192; k *= 2) all.push_back(sample(m, n, k, slower));
  return all;
}

TEST(ProductTable, GivesWhatWasMeasured) {
  const samples all = grid(1.3);
  const product_table table = product_table::make(model, all).value();
  for (const product_sample& s : all) {
    EXPECT_NEAR(table(s.m, s.n, s.k).time / s.time, 1, 1e-13);
    EXPECT_EQ(table(s.m, s.n, s.k).source, origin::measured);
  }
}

TEST(ProductTable, FollowsTheModelsShapeAtTheMeasuredLevel) {
  const product_table table = product_table::make(model, grid(0.9)).value();
  constexpr std::uint64_t seed = 9;
  std::cout << "seed " << seed << '\n';
  testing::generator random(seed);
  for (int i = 0; i < 500; ++i) {
    const std::int64_t m = random.between(1, 50000), n = random.between(1, 50000), k = random.between(1, 50000);
    EXPECT_NEAR(table(m, n, k).time / model.product(m, n, k), 0.9, 1e-9);
  }
}

TEST(ProductTable, TellsWhatLiesBetweenPointsAndWhatOutside) {
  const product_table table = product_table::make(model, grid(1)).value();
  EXPECT_EQ(table(1000, 3000, 5000).source, origin::interpolated);
  EXPECT_EQ(table(100, 3000, 5000).source, origin::extrapolated);
  EXPECT_EQ(table(1000, 3000, 9000).source, origin::extrapolated);
}

// 3 s for 256 rows, 2 s for 512: both become 2.5 s, a quarter more for the second.
TEST(ProductTable, TimesThatFallWithRowsAreMadeEqual) {
  samples all{sample(256, 1024, 1024, 1), sample(512, 1024, 1024, 1), sample(512, 1024, 2048, 1)};
  all[0].time = {3}, all[1].time = {2}, all[2].time = {1};
  const product_table table = product_table::make(model, all).value();
  EXPECT_NEAR(table(256, 1024, 1024).time.value, 2.5, 1e-12);
  EXPECT_NEAR(table(512, 1024, 1024).time.value, 2.5, 1e-12);
  EXPECT_NEAR(table(512, 1024, 2048).time.value, 1, 1e-12);  // another matrix: its own
  EXPECT_DOUBLE_EQ(table.largest_change(), 0.25);
}

TEST(ProductTable, NamesASampleThatIsNone) {
  samples all = grid(1);
  all.push_back({"A100", 5, 6, 7, {-1}});
  EXPECT_EQ(product_table::make(model, all).error().detail,
            "product of 5 x 7 and 7 x 6 on A100: a time must be more than 0 and finite");
  all.back() = {"A100", 0, 6, 7, {1}};
  EXPECT_EQ(product_table::make(model, all).error().detail,
            "product of 0 x 7 and 7 x 6 on A100: sizes are counted from 1");
  EXPECT_EQ(product_table::make(model, samples{}).error().detail, "no times of matrix products");
}

}  // namespace
}  // namespace slimpack::product_table_test
