#include <slimpack/profiling/fit.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace slimpack::fit_test {
namespace {

using profiling::drift;
using profiling::drift_of;
using profiling::fit;
using profiling::observation;
using profiling::pack_rates;
using profiling::stage_profile;

constexpr slice of(std::int64_t begin, std::int64_t length) { return {{0}, {begin}, {length}}; }

/// A pack of these slices by the formula that is fitted, of pack_rates; a backward takes twice as long.
observation seen(pass p, const std::vector<slice>& pack, const pack_rates& r, double times = 1) {
  seconds sum = r.pack;
  for (const slice& s : pack) {
    const auto n = static_cast<double>(s.length.value), b = static_cast<double>(s.begin.value);
    sum += r.slice + r.token * n + r.pair * n * b + r.own * n * n + r.prefix * b;
  }
  return {p, 0, false, pack, sum * (p == pass::forward ? times : 2 * times)};
}

/// Forty kinds of packs of each pass: one to four slices of eight lengths, behind five prefixes.
std::vector<observation> forty_packs(const pack_rates& r, double times = 1) {
  std::vector<observation> all;
  for (const pass p : both_passes)
    for (const std::int64_t n : {16, 24, 64, 96, 256, 300, 1000, 1024})
      for (const std::int64_t prefix : {0, 16, 128, 512, 777}) {
        std::vector<slice> pack{of(prefix, n)};
        for (std::int64_t k = 0; k < (n + prefix) % 4; ++k) pack.push_back(of(0, n + 8 * k));
        all.push_back(seen(p, pack, r, times));
      }
  return all;
}

constexpr pack_rates true_rates{{3e-5}, {1e-6}, {2e-6}, {1e-9}, {7e-10}, {3e-9}};

// Of 80 kinds every fifth is left out: those at 2, 7, ..., 77.
TEST(Fit, FindsTheRatesOfExactTimes) {
  const stage_profile p = fit(forty_packs(true_rates), 1).value();
  ASSERT_EQ(p.forward.size(), 1u);
  const auto near = [](const pack_rates& found, double times) {
    EXPECT_NEAR(found.pack.value, times * 3e-5, 1e-11);
    EXPECT_NEAR(found.slice.value, times * 1e-6, 1e-11);
    EXPECT_NEAR(found.token.value, times * 2e-6, 1e-12);
    EXPECT_NEAR(found.pair.value, times * 1e-9, 1e-15);
    EXPECT_NEAR(found.own.value, times * 7e-10, 1e-15);
    EXPECT_NEAR(found.prefix.value, times * 3e-9, 1e-14);
  };
  near(p.forward[0], 1);
  near(p.backward[0], 2);
  EXPECT_TRUE(p.weight_token.empty());
  EXPECT_EQ(p.check.kinds, 16u);
  EXPECT_LT(p.check.median, 0.05);
  EXPECT_LE(p.check.median, p.check.worst);
}

// The machine held one pack up for ten times as long.
TEST(Fit, LeavesOutWhatSomethingElseHasHeldUp) {
  std::vector<observation> all = forty_packs(true_rates);
  all[7].time = all[7].time * 10;
  EXPECT_NEAR(fit(all, 1).value().forward[0].token.value, 2e-6, 1e-12);
}

TEST(Fit, GivesNoNegativeRates) {
  std::vector<observation> all;
  for (const pass p : both_passes)
    for (const std::int64_t n : {8, 16, 32})
      all.push_back({p, 0, false, {of(0, n)}, {1.0 / static_cast<double>(n)}});  // longer, and faster
  const stage_profile made = fit(all, 1).value();
  for (const pack_rates& r : {made.forward[0], made.backward[0]})
    for (const double rate : r.row()) EXPECT_GE(rate, 0);
}

TEST(Fit, GivesEqualBitsOfEqualObservations) {
  const stage_profile a = fit(forty_packs(true_rates), 1).value(), b = fit(forty_packs(true_rates), 1).value();
  EXPECT_EQ(a.forward, b.forward);
  EXPECT_EQ(a.backward, b.backward);
  EXPECT_EQ(a.check, b.check);
  EXPECT_TRUE(std::equal(a.samples.begin(), a.samples.end(), b.samples.begin(), b.samples.end(),
                         [](const auto& x, const auto& y) { return x.time == y.time; }));
}

// A token takes a second in either pass. The fastest W counts, but for no more than 9 tenths of the backward that it is
// a part of.
TEST(Fit, TakesTheLeastOfWeightGradientsThatRanApart) {
  const auto token_of = [](double first, double second) {
    std::vector<observation> all;
    for (const pass p : both_passes)
      for (const std::int64_t n : {8, 16, 32}) all.push_back({p, 0, false, {of(0, n)}, {static_cast<double>(n)}});
    all.push_back({pass::backward, 0, true, {of(0, 8)}, {8 * first}});
    all.push_back({pass::backward, 0, true, {of(0, 16), of(0, 16)}, {32 * second}});
    return fit(all, 1).value().weight_token.at(0).value;
  };
  EXPECT_NEAR(token_of(0.25, 0.5), 0.25, 1e-12);
  EXPECT_NEAR(token_of(0.5, 0.375), 0.375, 1e-12);
  EXPECT_NEAR(token_of(2, 3), 0.9, 1e-9);
}

TEST(Fit, RefusesWhatIsNoObservation) {
  const auto refusal = [](const observation& o, int parts) {
    const result<stage_profile> made = fit(std::vector{o}, parts);
    return made                                       ? std::string("no error")
           : made.error().code == errc::invalid_input ? made.error().detail
                                                      : "another code";
  };
  const observation good{pass::forward, 0, false, {of(0, 8)}, {1}};
  EXPECT_EQ(refusal(good, 1), "no backward packs were seen on part 0 of 1");
  observation bad = good;
  bad.part = 3;
  EXPECT_EQ(refusal(bad, 1), "a pack of 1 slices on part 3 of 1 took 1.000000 s, which is no observation");
  bad.part = -1;
  EXPECT_EQ(refusal(bad, 1), "a pack of 1 slices on part -1 of 1 took 1.000000 s, which is no observation");
  bad = good, bad.pack.clear();
  EXPECT_EQ(refusal(bad, 1), "a pack of 0 slices on part 0 of 1 took 1.000000 s, which is no observation");
  for (const double none :
       {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    bad = good, bad.time = {none};
    EXPECT_NE(refusal(bad, 1).find("which is no observation"), std::string::npos) << none;
  }
}

// Calls that take 1.3 times as long as they did; predictions are then 1 - 1 / 1.3 too small. W is a part of its
// backward.
TEST(Drift, IsWhatPacksTakeAgainstTheModel) {
  constexpr pack_rates by_tokens{{1}, {}, {1}, {}, {}, {}};
  const costs::profiled cost = fit(forty_packs(by_tokens), 1).value().cost().value();
  std::vector<observation> later = forty_packs(by_tokens, 1.3);
  later.push_back({pass::backward, 0, true, {of(0, 8)}, {1000}});
  const drift found = drift_of(cost, later);
  EXPECT_EQ(found.packs, 80u);
  EXPECT_NEAR(found.ratio, 1.3, 1e-6);
  EXPECT_NEAR(found.error, 1 - 1 / 1.3, 1e-6);
  ASSERT_EQ(found.sums.size(), 2u);  // no pack has more than four slices
  for (const profiling::pack_sum& s : found.sums) {
    EXPECT_EQ(s.packs, 40u);
    EXPECT_FALSE(s.many);
    EXPECT_NEAR(s.ratio(), 1.3, 1e-6);
  }
}

// Three packs in four take what they should, and the large ones twice as long: a median does not see it.
TEST(Drift, SaysInSumsWhatMediansHide) {
  constexpr pack_rates by_tokens{{1}, {}, {1}, {}, {}, {}};
  const costs::profiled cost = fit(forty_packs(by_tokens), 1).value().cost().value();
  std::vector<observation> later = forty_packs(by_tokens);
  for (observation& o : later)
    if (o.pass == pass::backward && o.pack[0].length >= tokens{1000}) o.time = o.time * 2;
  const std::vector<slice> many(8, of(0, 100));
  later.push_back({pass::forward, 0, false, many, {0.5 * 801}});
  const drift found = drift_of(cost, later);
  EXPECT_NEAR(found.ratio, 1, 1e-6);
  EXPECT_NEAR(found.error, 0, 1e-6);
  ASSERT_EQ(found.sums.size(), 3u);
  EXPECT_NEAR(found.sums[0].ratio(), 1, 1e-6);
  EXPECT_EQ(found.sums[1], (profiling::pack_sum{pass::forward, 0, true, 1, {400.5}, found.sums[1].priced}));
  EXPECT_NEAR(found.sums[1].ratio(), 0.5, 1e-6);
  EXPECT_EQ(found.sums[2].pass, pass::backward);
  EXPECT_GT(found.sums[2].ratio(), 1.6);
  EXPECT_EQ(profiling::most_off(found.sums), &found.sums[2]);
  EXPECT_EQ(profiling::most_off(std::span(found.sums).first(1)), nullptr);
}

TEST(Drift, IsNoneWhereNothingWasSeen) {
  const drift none = drift_of(fit(forty_packs(true_rates), 1).value().cost().value(), {});
  EXPECT_EQ(none.packs, 0u);
  EXPECT_EQ(none.ratio, 1);
  EXPECT_EQ(none.error, 0);
}

}  // namespace
}  // namespace slimpack::fit_test
