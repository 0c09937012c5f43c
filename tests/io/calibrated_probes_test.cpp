#include <slimpack/costs/calibrated.hpp>
#include <slimpack/io/gpu.hpp>
#include <slimpack/io/profile.hpp>
#include <slimpack/testing/generator.hpp>

#include "../../benchmarks/fidelity/untaught.hpp"
#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

namespace slimpack::calibrated_probes_test {
namespace {

using costs::attention_sample;
using costs::calibrated;
using costs::product_sample;
using costs::wave_model;
using fidelity::untaught;

constexpr std::uint64_t seed = 7;

double miss(const wave_model& m, const attention_sample& s) {
  const std::int64_t batch = s.batch;
  return std::abs(
      m.attention(pass::forward, s.queries, s.keys, batch * s.heads, batch * s.kv_heads, s.head_dim) / s.forward - 1);
}
double miss(const wave_model& m, const product_sample& s) { return std::abs(m.product(s.m, s.n, s.k) / s.time - 1); }

result<calibrated> fit(const wave_model& from, const std::vector<attention_sample>& rows) {
  return calibrated::fit(from, rows, {});
}
result<calibrated> fit(const wave_model& from, const std::vector<product_sample>& rows) {
  return calibrated::fit(from, {}, rows);
}

/// Percent by which rows that are not at the first `count` of `places` are missed, fitted to those that are.
template <class Sample>
double error_from(const wave_model& prior, const std::vector<Sample>& rows, const std::vector<std::size_t>& places,
                  std::size_t count) {
  std::vector<bool> taken(rows.size());
  std::vector<Sample> some;
  for (std::size_t i = 0; i < count; ++i) taken[places[i]] = true, some.push_back(rows[places[i]]);
  const result<calibrated> made = fit(prior, some);
  const wave_model model = made ? made.value().model() : prior;
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!taken[i]) sum += miss(model, rows[i]);
  return 100 * sum / static_cast<double>(rows.size() - count);
}

/// The median of 100 random draws, of fewer where a sanitizer looks.
template <class Sample>
double error_by_chance(const wave_model& prior, const std::vector<Sample>& rows, std::size_t count) {
  testing::generator random(seed);
  std::vector<std::size_t> places(rows.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::vector<double> errors;
  for (int i = 0; i < 100 / tests::one_in; ++i) {
    random.shuffle(places);
    errors.push_back(error_from(prior, rows, places, count));
  }
  const auto median = errors.begin() + std::ssize(errors) / 2;
  std::nth_element(errors.begin(), median, errors.end());
  return *median;
}

template <class Sample>
void holds(const std::string& name, const wave_model& prior, const std::vector<Sample>& rows) {
  const std::vector<std::size_t> probes = calibrated::probes(prior, rows, 40);
  std::vector<double> errors;
  for (const std::size_t count : {5U, 10U, 20U, 40U}) errors.push_back(error_from(prior, rows, probes, count));

  const double five_by_chance = error_by_chance(prior, rows, 5), forty_by_chance = error_by_chance(prior, rows, 40);
  std::cout << name << ", seed " << seed << ": " << five_by_chance << " % by chance from 5, " << forty_by_chance
            << " % from 40; probes";
  for (const double e : errors) std::cout << ' ' << e;
  std::cout << '\n';
  EXPECT_LE(errors.front(), five_by_chance) << name;
  EXPECT_LE(errors.back(), forty_by_chance + 0.5) << name;  // all rows together reach 5 % to 6 %
  EXPECT_LE(errors.back(), errors.front()) << name;
  for (std::size_t i = 1; i < errors.size(); ++i) EXPECT_LE(errors[i], errors[i - 1] + 1) << name;
  EXPECT_LT(errors[0], 15) << name;
}

struct gpu_tables {
  costs::gpu device;
  std::vector<attention_sample> attention;
  std::vector<product_sample> products;
};

gpu_tables tables(const std::string& file, const std::string& gpu, const std::string& kernel) {
  static const std::filesystem::path data = SLIMPACK_TEST_DATA;
  static const io::profile all = io::read_profile(data / "profiles").value();
  gpu_tables made{io::read_gpu(data / "gpus" / file).value(), {}, {}};
  for (const attention_sample& s : all.attention)
    if (s.gpu == gpu && s.kernel == kernel) made.attention.push_back(s);
  for (const product_sample& s : all.products)
    if (s.gpu == gpu) made.products.push_back(s);
  return made;
}
gpu_tables a100() { return tables("a100.json", "A100-SXM4-80GB", "flash_attention"); }
gpu_tables h100() { return tables("h100.json", "H100-SXM5-80GB", "vllm_flash_attn_fa3"); }

/// What a table of one GPU tells of another: constants with the other's data sheet.
wave_model taught(const gpu_tables& donor, const costs::gpu& device) {
  const wave_model theirs = calibrated::fit(untaught(donor.device), donor.attention, donor.products).value().model();
  return {device, theirs.attention(), theirs.product()};
}

TEST(CalibratedProbes, BeatPointsByChanceFromAnA100ToAnH100) {
  const gpu_tables unseen = h100();
  const wave_model prior = taught(a100(), unseen.device);
  holds("attention on H100", prior, unseen.attention);
  holds("products on H100", prior, unseen.products);
}

TEST(CalibratedProbes, BeatPointsByChanceFromAnH100ToAnA100) {
  const gpu_tables unseen = a100();
  const wave_model prior = taught(h100(), unseen.device);
  holds("attention on A100", prior, unseen.attention);
  holds("products on A100", prior, unseen.products);
}

// Measured after all constants were shipped, with a kernel and on a GPU that no table had: what a user with neither
// begins with.
TEST(CalibratedProbes, BeatPointsByChanceOnAnH200ThatNothingWasFittedTo) {
  const io::profile unseen =
      io::read_profile(std::filesystem::path(SLIMPACK_TEST_DATA) / "../../benchmarks/measured_h200").value();
  ASSERT_EQ(unseen.attention.size(), 220U);
  ASSERT_EQ(unseen.products.size(), 360U);
  const wave_model prior(io::read_gpu(std::filesystem::path(SLIMPACK_TEST_DATA) / "gpus/h200.json").value());
  holds("attention on H200", prior, unseen.attention);
  holds("products on H200", prior, unseen.products);
}

TEST(CalibratedProbes, CanBeFittedWhereTimesAreMostlyAlike) {
  // A few products of 20 us and less among many of a millisecond: chosen by gain alone, all may be long.
  const wave_model start = untaught(a100().device);
  std::vector<product_sample> rows;
  for (std::int64_t m = 2048; m <= 4096; m += 64)
    for (const std::int64_t n : {2048, 4096}) rows.push_back({"A100", m, n, 4096, start.product(m, n, 4096)});
  rows.push_back({"A100", 128, 2048, 1024, start.product(128, 2048, 1024)});
  const std::vector<std::size_t> probes = calibrated::probes(start, rows, 3);
  std::vector<product_sample> some;
  for (const std::size_t i : probes) some.push_back(rows[i]);
  EXPECT_TRUE(fit(start, some));
}

TEST(CalibratedProbes, OfManyCandidatesAreChosenInTime) {
  const wave_model start = untaught(a100().device);
  std::vector<product_sample> rows;
  for (std::int64_t m = 1; m <= 10000; ++m) rows.push_back({"A100", 8 * m, 4096, 4096, {1}});
  EXPECT_EQ(calibrated::probes(start, rows, 5).size(), 5U);
  EXPECT_TRUE(calibrated::probes(start, std::vector<product_sample>{}, 5).empty());
}

}  // namespace
}  // namespace slimpack::calibrated_probes_test
