#include <slimpack/costs/calibrated.hpp>
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <set>
#include <string>
#include <vector>

namespace slimpack::calibrated_test {
namespace {

using costs::attention_sample;
using costs::calibrated;
using costs::product_sample;
using costs::wave_model;

const wave_model start{costs::gpus::h100()};

/// Another kernel of that GPU: every constant elsewhere.
wave_model other() {
  return {start.device(),
          {.launch = {2e-5},
           .share = 0.4,
           .tile_keys = 300,
           .waves = 0.2,
           .diagonal = 1.8,
           .key_passes = 1,
           .head_passes = 1.5,
           .backward_launch = {2e-5},
           .backward_cost = 4,
           .backward_tile = 500},
          {.launch = {1e-5}, .share = 0.6, .tile_depth = 250, .waves = 0.5, .passes = 1.8}};
}
std::vector<attention_sample> attention(const wave_model& truth, bool with_backward = true) {
  std::vector<attention_sample> all;
  for (const int heads : {4, 16, 64})
    for (std::int64_t q = 128; q <= 16384; q *= 2)
      for (std::int64_t k = q; k <= 65536; k *= 4) {
        all.push_back({.gpu = "H100",
                       .kernel = "flash",
                       .queries = {q},
                       .keys = {k},
                       .heads = heads,
                       .kv_heads = 4,
                       .head_dim = 128});
        all.back().forward = truth.attention(pass::forward, {q}, {k}, heads, 4, 128);
        if (with_backward) all.back().backward = truth.attention(pass::backward, {q}, {k}, heads, 4, 128);
      }
  return all;
}
std::vector<product_sample> products(const wave_model& truth) {
  std::vector<product_sample> all;
  for (std::int64_t m = 128; m <= 16384; m *= 2)
    for (std::int64_t n = 512; n <= 16384; n *= 2)
      for (std::int64_t k = 512; k <= 16384; k *= 2) all.push_back({"H100", m, n, k, truth.product(m, n, k)});
  return all;
}
double error_of(const wave_model& m, const std::vector<attention_sample>& all, pass p) {
  double sum = 0;
  for (const attention_sample& s : all)
    sum += std::abs(m.attention(p, s.queries, s.keys, s.heads, s.kv_heads, s.head_dim) /
                        (p == pass::forward ? s.forward : *s.backward) -
                    1);
  return sum / static_cast<double>(all.size());
}
double error_of(const wave_model& m, const std::vector<product_sample>& all) {
  double sum = 0;
  for (const product_sample& s : all) sum += std::abs(m.product(s.m, s.n, s.k) / s.time - 1);
  return sum / static_cast<double>(all.size());
}
template <class Sample>
std::vector<Sample> at(const std::vector<Sample>& all, const std::vector<std::size_t>& places) {
  std::vector<Sample> some;
  for (const std::size_t i : places) some.push_back(all[i]);
  return some;
}

TEST(Calibrated, FindsAModelAgainFromManyPoints) {
  const auto attends = attention(other());
  const auto multiplies = products(other());
  ASSERT_GT(error_of(start, attends, pass::forward), 0.3);
  ASSERT_GT(error_of(start, attends, pass::backward), 0.3);
  ASSERT_GT(error_of(start, multiplies), 0.15);
  const wave_model found = calibrated::fit(start, attends, multiplies).value().model();
  EXPECT_LT(error_of(found, attends, pass::forward), 0.01);
  EXPECT_LT(error_of(found, attends, pass::backward), 0.01);
  EXPECT_LT(error_of(found, multiplies), 0.01);
}

// More points than a fit looks at.
TEST(Calibrated, FindsAModelAgainFromSomeOfVeryManyPoints) {
  std::vector<product_sample> multiplies;
  for (std::int64_t m = 128; m <= 16384; m += 128 * tests::one_in)
    for (std::int64_t n = 512; n <= 8192; n *= 2)
      for (std::int64_t k = 512; k <= 16384; k *= 2) multiplies.push_back({"H100", m, n, k, other().product(m, n, k)});
  std::vector<attention_sample> attends;
  for (std::int64_t q = 16; q <= 49152; q += 16 * tests::one_in) {
    attends.push_back({.gpu = "H100",
                       .kernel = "flash",
                       .queries = {q},
                       .keys = {2 * q},
                       .heads = 8,
                       .kv_heads = 4,
                       .head_dim = 128});
    attends.back().forward = other().attention(pass::forward, {q}, {2 * q}, 8, 4, 128);
    attends.back().backward = other().attention(pass::backward, {q}, {2 * q}, 8, 4, 128);
  }
  ASSERT_GT(multiplies.size(), 3000u / tests::one_in);
  ASSERT_GT(attends.size(), 3000u / tests::one_in);
  const wave_model found = calibrated::fit(start, attends, multiplies).value().model();
  EXPECT_LT(error_of(found, attends, pass::forward), 0.01);
  EXPECT_LT(error_of(found, attends, pass::backward), 0.01);
  EXPECT_LT(error_of(found, multiplies), 0.01);
}

TEST(Calibrated, FiveTellingPointsAreNearlyEnough) {
  const auto attends = attention(other(), false);
  const auto multiplies = products(other());
  const wave_model found = calibrated::fit(start, at(attends, calibrated::probes(start, attends, 5)),
                                           at(multiplies, calibrated::probes(start, multiplies, 5)))
                               .value()
                               .model();
  EXPECT_LT(error_of(found, attends, pass::forward), 0.1);
  EXPECT_LT(error_of(found, multiplies), 0.05);
}

TEST(Calibrated, ProbesTellMoreThanPointsByChance) {
  constexpr std::uint64_t seed = 23;
  std::cout << "seed " << seed << '\n';
  testing::generator random(seed);
  auto all = products(other());
  const double probed =
      error_of(calibrated::fit(start, {}, at(all, calibrated::probes(start, all, 5))).value().model(), all);
  int better = 0;
  for (int i = 0; i < 40; ++i) {
    auto some = all;
    random.shuffle(some);
    some.resize(5);
    const result<calibrated> by_chance = calibrated::fit(start, {}, some);
    better += !by_chance || probed <= error_of(by_chance.value().model(), all) ? 1 : 0;
  }
  EXPECT_GE(better, 30);
}

TEST(Calibrated, ProbesAreDifferentAndNoMoreThanThereAre) {
  const auto all = attention(start);
  const std::vector<std::size_t> probes = calibrated::probes(start, all, 12);
  EXPECT_EQ(std::set<std::size_t>(probes.begin(), probes.end()).size(), 12u);
  EXPECT_EQ(calibrated::probes(start, std::vector<attention_sample>(all.begin(), all.begin() + 3), 5).size(), 3u);
}

TEST(Calibrated, TimesOfTheStartLeaveItsConstants) {
  const wave_model found = calibrated::fit(start, attention(start), products(start)).value().model();
  EXPECT_NEAR(found.attention().share, start.attention().share, 1e-6);
  EXPECT_NEAR(found.attention().waves, start.attention().waves, 1e-6);
  EXPECT_NEAR(found.product().tile_depth, start.product().tile_depth, 1e-3);
}

TEST(Calibrated, WhatWasNotMeasuredStays) {
  const wave_model found = calibrated::fit(start, {}, products(other())).value().model();
  EXPECT_EQ(found.attention(), start.attention());
  EXPECT_EQ(calibrated::fit(start, attention(other()), {}).value().model().product(), start.product());
  const wave_model forward = calibrated::fit(start, attention(other(), false), {}).value().model();
  EXPECT_NEAR(forward.attention().backward_cost, start.attention().backward_cost, 1e-9);
}

TEST(Calibrated, RefusesTooFewPoints) {
  auto all = products(other());
  all.resize(2);
  EXPECT_EQ(calibrated::fit(start, {}, all).error().detail,
            "2 points of matrix products, at least 3 different ones are needed to fit a wave model");
  const std::vector<attention_sample> same(5, attention(other())[0]);
  EXPECT_EQ(calibrated::fit(start, same, {}).error().detail,
            "1 points of attention, at least 3 different ones are needed to fit a wave model");
}

TEST(Calibrated, RefusesPointsOfLikeSize) {
  const std::vector<product_sample> alike{
      {"H100", 4096, 4096, 4096, {1}}, {"H100", 4096, 4096, 5120, {1}}, {"H100", 4096, 4096, 6144, {1}}};
  EXPECT_EQ(calibrated::fit(start, {}, alike).error().code, errc::invalid_input);
}

TEST(Calibrated, ConstantsAreThoseOfTheKernelThatTrains) {
  const auto alone = attention(other());
  auto all = alone;
  for (attention_sample s : attention(start, false)) {
    s.kernel = "serving";
    all.push_back(s);
  }
  EXPECT_EQ(calibrated::fit(start, all, {}).value().model(), calibrated::fit(start, alone, {}).value().model());
}

TEST(Calibrated, RefusesTimesThatAreNone) {
  auto all = products(other());
  all[3].time = {0};
  EXPECT_EQ(calibrated::fit(start, {}, all).error().code, errc::invalid_input);
}

}  // namespace
}  // namespace slimpack::calibrated_test
