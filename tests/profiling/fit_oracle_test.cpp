#include <slimpack/profiling/detail/expected_constants.hpp>
#include <slimpack/profiling/detail/rate_fit.hpp>
#include <slimpack/profiling/fit.hpp>
#include <slimpack/profiling/trials.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <numbers>
#include <span>
#include <vector>

namespace slimpack::fit_oracle_test {
namespace {

using namespace slimpack::profiling;

/// Sum of twelve uniform numbers: mean 0, deviation 1, and nearly normal.
double normal(testing::generator& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.ratio();
  return sum;
}

/// A trainer on processors, of which nothing is fitted: it knows what its packs take.
struct trainer {
  by_pass<pack_rates> rates;

  /// own: of a slice's own pairs, the share that is computed: 1 of dense attention, a half of causal kernels. Backward
  /// adds to gradients of the whole prefix.
  static trainer with(double own) {
    return {{{{3e-4}, {1e-4}, {1e-5}, {1e-7}, {own * 1e-7}, {}},
             {{6e-4}, {2e-4}, {2e-5}, {2.2e-7}, {own * 2.2e-7}, {2e-5}}}};
  }
  [[nodiscard]] double time(std::span<const slice> pack, pass p) const {
    const pack_rates& r = rates[p];
    double sum = r.pack.value;
    for (const slice& s : pack) {
      const auto n = static_cast<double>(s.length.value), b = static_cast<double>(s.begin.value);
      sum += r.slice.value + r.token.value * n + r.pair.value * n * b + r.own.value * n * n + r.prefix.value * b;
    }
    return sum;
  }
  /// Its trials, each so often.
  [[nodiscard]] std::vector<observation> trials(int times, double noise, testing::generator& random) const {
    std::vector<observation> all;
    for (; times > 0; --times)
      for (const trial& t : trials_for({4096}, {64}, false)) {
        const plan step = plan_of(t, {});
        for (const pass p : both_passes) {
          const micropacks& packs = step.replicas[0].partition.of(p);
          for (std::size_t i = 0; i < packs.size(); ++i) {
            const std::vector<slice> pack(packs[i].begin(), packs[i].end());
            all.push_back({p, 0, false, pack, {time(pack, p) * (1 + noise * normal(random))}});
          }
        }
      }
    return all;
  }
};

/// Whole sequences, some of them short, until a pack is full: megatron's.
std::vector<slice> whole_pack(testing::generator& random) {
  std::vector<slice> pack;
  for (std::int64_t size = 0; size < 4096; size += pack.back().length.value)
    pack.push_back({{0}, {0}, {16 + random.length({4000}).value}});
  return pack;
}
/// Two slices behind prefixes.
std::vector<slice> cut_pack(testing::generator& random) {
  std::vector<slice> pack;
  for (int i = 0; i < 2; ++i) pack.push_back({{0}, {64 * random.between(0, 51)}, {64 * random.between(1, 12)}});
  return pack;
}

TEST(FitOracle, FindsTheRatesOfDenseAndCausalTrainersWithinTheirErrors) {
  for (const double own : {1.0, 0.5}) {
    const trainer known = trainer::with(own);
    int within = 0, asked = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      testing::generator random(seed);
      const stage_profile p = fit(known.trials(5, 0.05, random), 1).value();
      for (const pass way : both_passes) {
        const pack_rates found = p.of(way).at(0);
        const rate_row is = found.row(), truth = known.rates[way].row();
        for (std::size_t k = 0; k < rate_count; ++k) {
          const double error = p.spread[way].at(0).error_of(k).value;
          if (truth[k] == 0 || error == 0) continue;
          ++asked, within += std::abs(is[k] - truth[k]) <= 2 * error;
          EXPECT_LE(std::abs(is[k] - truth[k]), 6 * error) << "rate " << k << ", own " << own << ", seed " << seed;
        }
        EXPECT_NEAR(found.own / found.pair, own, 0.15) << "own " << own << ", seed " << seed;
      }
    }
    std::cout << "own pairs " << own << ": " << within << " of " << asked << " rates within two standard errors\n";
    EXPECT_GT(asked, 200);
    EXPECT_GT(within, asked * 85 / 100);  // 95 % of normal errors; residuals of few kinds tell them roughly
  }
}

TEST(FitOracle, PricesPacksThatItHasNotSeenInSum) {
  double worst = 0;
  for (const double own : {1.0, 0.5})
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      const trainer known = trainer::with(own);
      testing::generator random(seed);
      const costs::profiled cost = fit(known.trials(15, 0.03, random), 1).value().cost().value();
      std::vector<observation> whole, cut;
      for (const pass p : both_passes)
        for (int i = 0; i < 100; ++i)
          for (auto* list : {&whole, &cut}) {
            const std::vector<slice> pack = list == &whole ? whole_pack(random) : cut_pack(random);
            list->push_back({p, 0, false, pack, {known.time(pack, p)}});
          }
      for (const auto* list : {&whole, &cut})
        for (const pass p : both_passes) {
          seconds measured{}, priced{};
          for (const pack_sum& s : sums_of(cost, *list))
            if (s.pass == p) measured += s.measured, priced += s.priced;
          worst = std::max(worst, std::abs(measured / priced - 1));
          EXPECT_NEAR(measured / priced, 1, 0.02) << (list == &whole ? "whole" : "cut") << ", seed " << seed;
        }
    }
  std::cout << "noise of 3 %: sums of packs left out are " << 100 * worst << " % off at most\n";
}

// Steps that were planned with cuts, and whole sequences asked for: what one feature of pairs gets wrong by half.
TEST(FitOracle, PricesWholeSequencesByCutOnes) {
  const trainer known = trainer::with(1);
  testing::generator random(4);
  std::vector<observation> seen;
  for (const pass p : both_passes)
    for (int i = 0; i < 120; ++i) {
      const std::vector<slice> pack = cut_pack(random);
      seen.push_back({p, 0, false, pack, {known.time(pack, p)}});
    }
  const costs::profiled cost = fit(seen, 1).value().cost().value();
  for (const pass p : both_passes) {
    seconds measured{}, priced{};
    for (int i = 0; i < 100; ++i) {
      const std::vector<slice> pack = whole_pack(random);
      measured += seconds{known.time(pack, p)}, priced += cost.time(pack, p, 0);
    }
    EXPECT_NEAR(measured / priced, 1, 0.02);
  }
}

// A slice takes next to nothing, and noise a fifth. Least squares say 0 of some; what is expected is above 0 of all,
// and no more than noise explains.
TEST(FitOracle, GivesNoConstantOfZeroInNoise) {
  trainer known = trainer::with(0.5);
  for (const pass p : both_passes) known.rates[p].slice = {1e-6}, known.rates[p].pack = {1e-6};
  int zeros = 0, near = 0, asked = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    testing::generator random(seed);
    const std::vector<observation> seen = known.trials(3, 0.2, random);
    const stage_profile p = fit(seen, 1).value();
    for (const pass way : both_passes) {
      profiling::detail::fit_rows<rate_count> rows;
      for (const observation& o : seen)
        if (o.pass == way) rows.push(counts_of(o.pack), o.time.value, o.time.value);
      const rate_row best = profiling::detail::least_squares(rows, 0b111111);
      zeros += best[0] == 0 || best[1] == 0;
      const pack_rates& r = p.of(way).at(0);
      EXPECT_GT(r.slice, seconds{}) << "seed " << seed;
      EXPECT_GT(r.pack, seconds{}) << "seed " << seed;
      for (const std::size_t k : {0u, 1u})
        ++asked, near += std::abs(r.row()[k] - 1e-6) <= 3 * p.spread[way].at(0).error_of(k).value;
    }
  }
  std::cout << "of 40 best fits " << zeros << " have a constant of 0\n";
  EXPECT_GT(zeros, 10);
  EXPECT_GT(near, asked * 9 / 10);
}

// A scale that holds its own noise of deviation s makes sums 2 s^2 too small, 8 % of s = .2.
TEST(FitOracle, HasNoBiasOfNoise) {
  testing::generator random(7);
  std::vector<rate_row> counts;
  std::vector<double> times;
  for (int i = 0; i < 4000; ++i) {
    counts.push_back(counts_of(std::vector<slice>{{{0}, {}, random.length({1000})}}));
    times.push_back(counts.back()[2] * (1 + 0.2 * normal(random)));
  }
  profiling::detail::fit_rows<rate_count> rows;
  for (std::size_t i = 0; i < counts.size(); ++i) rows.push(counts[i], times[i], times[i]);
  const rate_row naive = profiling::detail::least_squares(rows, 0b000100),
                 found = profiling::detail::rates_fitted(counts, times).rates;
  EXPECT_LT(naive[2], 0.95);
  EXPECT_NEAR(product(found, counts_of(std::vector<slice>{{{0}, {}, {500}}})) / 500, 1, 0.01);
}

// Something else on the machine holds up one pack in eight, two to four times as long; single times, so that no median
// mends it. Noise of the others is a tenth.
TEST(FitOracle, LeavesOutPacksThatWereHeldUp) {
  const trainer known = trainer::with(1);
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    testing::generator random(seed);
    std::vector<rate_row> counts;
    std::vector<double> times;
    for (int i = 0; i < 100; ++i) {
      const std::vector<slice> pack = i % 2 == 0 ? whole_pack(random) : cut_pack(random);
      counts.push_back(counts_of(pack));
      times.push_back(known.time(pack, pass::forward) * (1 + 0.1 * normal(random)) *
                      (random.once_in(8) ? 2 + 2 * random.ratio() : 1));
    }
    const profiling::detail::fitted_rates found = profiling::detail::rates_fitted(counts, times);
    double truth = 0, priced = 0;
    for (int i = 0; i < 50; ++i) {
      const std::vector<slice> pack = whole_pack(random);
      truth += known.time(pack, pass::forward), priced += product(counts_of(pack), found.rates);
    }
    sum += priced / truth / 20;
    EXPECT_NEAR(priced / truth, 1, 0.1) << "seed " << seed;
    EXPECT_LT(found.spread.value().noise, 0.2) << "seed " << seed;
  }
  EXPECT_NEAR(sum, 1, 0.02);
}

double density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }
double below(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

// Independent constants: of each the mean of a normal distribution that is cut off below 0, m + s f(m / s) / F(m / s).
TEST(ExpectedConstants, AreMeansOfCutNormalDistributions) {
  testing::generator random(1);
  for (int i = 0; i < 50; ++i) {
    std::array<double, 2> center{}, deviation{};
    for (std::size_t k = 0; k < 2; ++k) center[k] = 8 * random.ratio() - 4, deviation[k] = 0.1 + random.ratio();
    const auto weight = [&](std::size_t k) { return 1 / (deviation[k] * deviation[k]); };
    const profiling::detail::expected_pair found = profiling::detail::expected_of(
        {{{weight(0), 0}, {0, weight(1)}}}, {center[0] * weight(0), center[1] * weight(1)});
    for (std::size_t k = 0; k < 2; ++k) {
      const double z = center[k] / deviation[k], edge = z < -30 ? -z : density(z) / below(z);
      const double mean = z < -30 ? -deviation[k] / z : center[k] + deviation[k] * edge;
      EXPECT_NEAR(found.mean[k] / mean, 1, z < -6 ? 0.01 : 1e-4) << "center " << z << " deviations, seed 1";
      if (z <= -6) continue;
      EXPECT_NEAR(found.covariance[k][k] / (deviation[k] * deviation[k] * (1 - z * edge - edge * edge)), 1, 1e-2);
    }
    EXPECT_NEAR(found.covariance[0][1], 0, 1e-6);
  }
}

// Only the sum u is measured, as m with noise 1. Each point of the line x0 + x1 = u has the same weight, so that the
// density of u is u times the normal one.
TEST(ExpectedConstants, AreHalvesWhereOnlyTheSumIsTold) {
  for (const double m : {-3.0, 0.0, 1.0, 20.0}) {
    const profiling::detail::expected_pair found = profiling::detail::expected_of({{{1, 1}, {1, 1}}}, {m, m});
    const double sum = ((m * m + 1) * below(m) + m * density(m)) / (m * below(m) + density(m));
    EXPECT_NEAR(found.mean[0], sum / 2, 1e-3 * sum) << m;
    EXPECT_NEAR(found.mean[1], sum / 2, 1e-3 * sum) << m;
    EXPECT_LT(found.covariance[0][1], 0) << m;
  }
}

// Any other, by a sum over a grid of the quadrant.
TEST(ExpectedConstants, AreThoseOfAGridOverTheQuadrant) {
  testing::generator random(2);
  for (int i = 0; i < 10; ++i) {
    const double a = 0.5 + random.ratio(), d = 0.5 + random.ratio(),
                 c = std::sqrt(a * d) * (1.8 * random.ratio() - 0.9);
    const double b0 = 4 * random.ratio() - 2, b1 = 4 * random.ratio() - 2;
    double mass = 0, m0 = 0, m1 = 0, s01 = 0, s00 = 0;
    constexpr double step = 0.02;
    for (double x = step / 2; x < 25; x += step)
      for (double y = step / 2; y < 25; y += step) {
        const double w = std::exp(-(a * x * x + 2 * c * x * y + d * y * y) / 2 + b0 * x + b1 * y);
        mass += w, m0 += w * x, m1 += w * y, s01 += w * x * y, s00 += w * x * x;
      }
    m0 /= mass, m1 /= mass, s01 /= mass, s00 /= mass;
    const profiling::detail::expected_pair found = profiling::detail::expected_of({{{a, c}, {c, d}}}, {b0, b1});
    EXPECT_NEAR(found.mean[0], m0, 1e-2 * m0) << "seed 2, case " << i;
    EXPECT_NEAR(found.mean[1], m1, 1e-2 * m1) << "seed 2, case " << i;
    EXPECT_NEAR(found.covariance[0][0], s00 - m0 * m0, 2e-2 * s00) << "seed 2, case " << i;
    EXPECT_NEAR(found.covariance[0][1], s01 - m0 * m1, 2e-2 * s00) << "seed 2, case " << i;
  }
}

// What a fit says of a pack's expected time holds: 95 % of normal errors are within two of them.
TEST(Uncertainty, IsHowFarExpectedTimesAreOff) {
  const trainer known = trainer::with(1);
  int within = 0, asked = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    testing::generator random(seed);
    const stage_profile p = fit(known.trials(3, 0.1, random), 1).value();
    for (const pass way : both_passes)
      for (int i = 0; i < 20; ++i) {
        const std::vector<slice> pack = i % 2 == 0 ? whole_pack(random) : cut_pack(random);
        const double off = product(counts_of(pack), p.of(way)[0].row()) / known.time(pack, way) - 1;
        const double said = p.uncertainty(pack, way, 0).value();
        EXPECT_LT(said, 0.1);
        ++asked, within += std::abs(off) <= 2 * said;
      }
  }
  std::cout << within << " of " << asked << " packs within two standard errors\n";
  EXPECT_GT(within, asked * 85 / 100);
}

// Variances of a part and pass grow with the square of counts, those of different ones add up. The stage that computes
// longest counts.
TEST(Uncertainty, OfAStepIsThatOfItsLongestStage) {
  stage_profile p;
  p.forward = {{{1}, {}, {1}, {}, {}, {}}, {{2}, {}, {3}, {}, {}, {}}};
  p.backward = {{{1}, {}, {2}, {}, {}, {}}, {{2}, {}, {4}, {}, {}, {}}};
  const auto of_token = [](double deviation) {
    rate_spread s{0.1, {}};
    s.covariance[2][2] = deviation * deviation;
    return s;
  };
  EXPECT_FALSE(p.uncertainty(plan_of(side_by_side(1, std::vector<tokens>{{10}}), {.stages = 2})));
  p.spread.forward = {of_token(9), of_token(0.3)};
  p.spread.backward = {of_token(9), of_token(0.4)};
  const plan step =
      plan_of(side_by_side(2, std::vector<tokens>{{10}, {30}}), {.stages = 2});  // two packs, of 20 and of 60 tokens
  EXPECT_NEAR(p.uncertainty(step).value(), std::hypot(80 * 0.3, 80 * 0.4) / (2 * 2 + 80 * 3 + 2 * 2 + 80 * 4), 1e-12);
  EXPECT_NEAR(p.uncertainty(step.replicas[0].partition.forward[1], pass::forward, 1).value(), 60 * 0.3 / (2 + 60 * 3),
              1e-12);
}

}  // namespace
}  // namespace slimpack::fit_oracle_test
