#include <slimpack/costs/kernels/slice_growth.hpp>
#include <slimpack/costs/profiled.hpp>
#include <slimpack/testing/cost_model_laws.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::slice_growth_test {
namespace {

using costs::profiled;
using costs::slice_growth;

/// Dense attention: the masked half is computed, too. Backward adds to gradients of the whole prefix.
constexpr by_pass<slice_growth> dense{{{1e-4}, {1e-6}, {4e-9}, {4e-9}, {}}, {{2e-4}, {3e-6}, {9e-9}, {9e-9}, {2e-7}}};

seconds time_of(pass p, std::int64_t n, std::int64_t b) {
  return {dense[p](static_cast<double>(n), static_cast<double>(b))};
}

/// A few places of each part, all with the same times.
std::vector<profiled::sample> samples(int parts) {
  std::vector<profiled::sample> all;
  for (int part = 0; part < parts; ++part)
    for (const pass p : both_passes)
      for (const std::int64_t n : {64, 1024})
        for (const std::int64_t b : {0, 2048}) all.push_back({p, part, {n}, {b + n}, time_of(p, n, b)});
  return all;
}

profiled::extras with(std::vector<slice_growth> forward, std::vector<slice_growth> backward) {
  profiled::extras beside;
  beside.growth = {std::move(forward), std::move(backward)};
  return beside;
}

TEST(SliceGrowth, PricesWhatLiesFarFromItsSamples) {
  const profiled cost = profiled::make(samples(1), with({dense.forward}, {dense.backward})).value();
  for (const pass p : both_passes)
    for (const std::int64_t n : {1, 100, 5000, 60000})
      for (const std::int64_t b : {0, 777, 30000})
        EXPECT_NEAR(cost.time(slice{{0}, {b}, {n}}, p, 0) / time_of(p, n, b), 1, 1e-9) << n << " behind " << b;
}

TEST(SliceGrowth, ObeysTheLawsOfCostModels) {
  const profiled cost =
      profiled::make(samples(2), with({dense.forward, dense.forward}, {dense.backward, dense.backward})).value();
  EXPECT_EQ(cost.like(1), 0);
  const testing::report found = testing::cost_model_laws(cost, 2);
  EXPECT_TRUE(found) << found;
}

// Parts with the same samples that grow otherwise have tables of their own.
TEST(SliceGrowth, TellsPartsApart) {
  slice_growth steep = dense.forward;
  steep.own = steep.own * 3.0;
  const profiled cost =
      profiled::make(samples(2), with({dense.forward, steep}, {dense.backward, dense.backward})).value();
  EXPECT_EQ(cost.like(1), 1);
  const slice far{{0}, {0}, {60000}};
  const auto growth = [](const slice_growth& g) { return g(60000, 0) / g(1024, 0); };
  EXPECT_NEAR(cost.time(far, pass::forward, 1) / cost.time(far, pass::forward, 0),
              growth(steep) / growth(dense.forward), 1e-9);
}

// Tables then hold the rest of a backward, which grows by so much less with each token.
TEST(SliceGrowth, LeavesWeightGradientsToTheirRate) {
  profiled::extras beside = with({dense.forward}, {dense.backward});
  beside.weight_token = {{1.5e-6}};
  const profiled cost = profiled::make(samples(1), std::move(beside)).value();
  for (const std::int64_t n : {1, 100, 5000, 60000}) {
    const slice s{{0}, {777}, {n}};
    EXPECT_NEAR(cost.time(s, pass::backward, 0) / time_of(pass::backward, n, 777), 1, 1e-9) << n;
    EXPECT_NEAR(cost.weight_time(s, 0).value, 1.5e-6 * static_cast<double>(n), 1e-12 * static_cast<double>(n));
  }
}

TEST(SliceGrowth, RefusesWhatIsNone) {
  const auto refusal = [](profiled::extras beside) {
    const result<profiled> made = profiled::make(samples(1), std::move(beside));
    return made ? std::string("no error") : made.error().detail;
  };
  EXPECT_EQ(refusal(with({dense.forward}, {})), "no error");
  EXPECT_EQ(refusal(with({}, {dense.backward, dense.backward})), "2 backward growths of slices for 1 parts");
  for (const double none : {-1.0, 1e13, std::numeric_limits<double>::quiet_NaN()}) {
    slice_growth wrong = dense.forward;
    wrong.prefix = {none};
    EXPECT_EQ(refusal(with({wrong}, {})).find("the forward growth of slices on part 0 has a coefficient of "), 0u);
  }
}

}  // namespace
}  // namespace slimpack::slice_growth_test
