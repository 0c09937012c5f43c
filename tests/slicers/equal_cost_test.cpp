#include <slimpack/costs/quadratic.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"
#include "../support/kinds_cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <sstream>
#include <vector>

namespace slimpack::equal_cost_test {
namespace {

const costs::quadratic second_a_token{.linear = 1, .attention = 0, .backward_linear = 1};
const costs::quadratic second_a_pair{.linear = 0, .attention = 1, .backward_attention = 1};

slice next(const sequence& s, tokens at, pass p, seconds time, tokens room, bool empty, const costs::quadratic& cost) {
  return slicers::equal_cost{}.next(s, at, p, {.time = time, .size = room, .quantum = {100}, .empty = empty}, cost);
}

TEST(EqualCostSlicer, TakesAllThatTheBudgetPays) {
  const sequence s{{7}, {950}};
  EXPECT_EQ(next(s, {0}, pass::forward, {399}, {2000}, false, second_a_token), (slice{{7}, {0}, {300}}));
  EXPECT_EQ(next(s, {300}, pass::forward, {400}, {2000}, false, second_a_token), (slice{{7}, {300}, {400}}));
  EXPECT_EQ(next(s, {700}, pass::forward, {250}, {2000}, false, second_a_token), (slice{{7}, {700}, {250}}));
}

// Backward the first cut lies on the quantum below the sequence's end: 950 - 900.
TEST(EqualCostSlicer, CutsOnTheQuantumFromTheEndToo) {
  const sequence s{{7}, {950}};
  EXPECT_EQ(next(s, {950}, pass::backward, {149}, {2000}, false, second_a_token), (slice{{7}, {900}, {50}}));
  EXPECT_EQ(next(s, {950}, pass::backward, {150}, {2000}, false, second_a_token), (slice{{7}, {800}, {150}}));
  EXPECT_EQ(next(s, {100}, pass::backward, {150}, {2000}, false, second_a_token), (slice{{7}, {0}, {100}}));
}

// Pairs of [0, 100 k): 5050, 20100, 45150, 80200. A budget of 45150 pays 300 tokens at the front, and 100 at 400,
// where they cost 100 x (2 x 400 + 101) / 2 = 45050.
TEST(EqualCostSlicer, GivesThinnerSlicesOfTheSameCostBehindALongPrefix) {
  const sequence s{{7}, {1000}};
  EXPECT_EQ(next(s, {0}, pass::forward, {45150}, {2000}, false, second_a_pair).length, tokens{300});
  EXPECT_EQ(next(s, {400}, pass::forward, {45150}, {2000}, false, second_a_pair).length, tokens{100});
}

TEST(EqualCostSlicer, KeepsTheTokenCap) {
  const sequence s{{7}, {950}};
  EXPECT_EQ(next(s, {0}, pass::forward, {1e9}, {299}, false, second_a_token).length, tokens{200});
  EXPECT_EQ(next(s, {0}, pass::forward, {1e9}, {99}, true, second_a_token).length, tokens{0});
}

TEST(EqualCostSlicer, OvershootsOnlyAnEmptyPackAndByOneQuantum) {
  const sequence s{{7}, {950}};
  EXPECT_EQ(next(s, {0}, pass::forward, {0}, {2000}, false, second_a_token), (slice{{7}, {0}, {0}}));
  EXPECT_EQ(next(s, {0}, pass::forward, {0}, {2000}, true, second_a_token), (slice{{7}, {0}, {100}}));
  EXPECT_EQ(next(s, {950}, pass::backward, {0}, {2000}, true, second_a_token), (slice{{7}, {900}, {50}}));
}

TEST(EqualCostSlicer, FindsTheLargestSliceThatFits) {
  testing::generator random(81);
  const costs::quadratic cost;
  for (int i = testing::options{}.cases * tests::cases(1); i > 0; --i) {
    const sequence s{{0}, random.length({60000})};
    const tokens quantum{random.between(1, 512)};
    const pass p = random.once_in(2) ? pass::forward : pass::backward;
    const tokens at = p == pass::forward ? tokens{0} : s.length;
    const seconds budget = cost.time({s.id, {0}, s.length}, p, 0) * random.ratio();
    const cut_budget left{.time = budget, .size = {random.between(1, 70000)}, .quantum = quantum};
    const slice given = slicers::equal_cost{}.next(s, at, p, left, cost);
    slice best{s.id, at, {0}};  // every cut, one after the other
    for (std::int64_t cut = 0; cut <= s.length.value + quantum.value; cut += quantum.value) {
      const tokens border{std::min(cut, s.length.value)};
      const slice tried = p == pass::forward ? slice{s.id, at, border} : slice{s.id, border, at - border};
      if (tried.length > best.length && tried.length <= left.size && cost.time(tried, p, 0) <= budget) best = tried;
    }
    EXPECT_EQ(given, best) << "seed 81";
  }
}

// Slices that begin or end anywhere grow at one end, where times do not fall even if they do behind a border.
TEST(EqualCostSlicer, FindsTheLargestSliceThatFitsWithBorders) {
  testing::generator random(84);
  int borders = 0;
  for (int i = testing::options{}.cases * tests::cases(1); i > 0; --i) {
    const tests::kinds_cost cost(random, 900);
    borders += cost.has_borders();
    const sequence s{{0}, random.length({6000})};
    const tokens quantum{random.between(1, 512)};
    const pass p = random.once_in(2) ? pass::forward : pass::backward;
    tokens at = quantum * random.between(0, s.length.value / quantum.value);
    if (p == pass::backward && at == tokens{}) at = s.length;
    const seconds budget = cost.time(s.whole(), p, 0) * random.ratio();
    const cut_budget left{.time = budget, .size = {random.between(1, 7000)}, .quantum = quantum};
    slice best{s.id, at, {0}};  // every cut, one after the other
    for (std::int64_t cut = 0; cut <= s.length.value + quantum.value; cut += quantum.value) {
      const tokens border{std::min(cut, s.length.value)};
      const slice tried = p == pass::forward ? slice{s.id, at, border - at} : slice{s.id, border, at - border};
      if (tried.length > best.length && tried.length <= left.size && cost.time(tried, p, 0) <= budget) best = tried;
    }
    EXPECT_EQ(slicers::equal_cost{}.next(s, at, p, left, cost), best) << "seed 84, " << i;
  }
  EXPECT_GT(borders, 0);
}

/// Times that do not fall, with jumps and flat stretches: the sum of `rises` up to a slice's length.
struct staircase {
  std::vector<double> rises;
  [[nodiscard]] seconds time(const slice& s, pass, int) const {
    seconds sum{};
    for (std::int64_t i = 0; i < s.length.value; ++i) sum += {rises[static_cast<std::size_t>(i)]};
    return sum;
  }
};
/// Asked in the order that suits times which may fall.
struct asked_from_below : staircase {
  static constexpr bool times_may_fall = true;
};

TEST(EqualCostSlicer, FindsTheLargestSliceOfTimesOnNoLine) {
  testing::generator random(82);
  for (int i = testing::options{}.cases * tests::cases(1); i > 0; --i) {
    const sequence s{{0}, {random.between(1, 120)}};
    asked_from_below cost;
    for (std::int64_t n = s.length.value; n > 0; --n)
      cost.rises.push_back(random.once_in(3) ? random.ratio() : random.once_in(9) ? 50 : 0);
    const tokens quantum{random.between(1, 5)};
    const pass p = random.once_in(2) ? pass::forward : pass::backward;
    tokens at{random.between(0, s.length.value) / quantum.value * quantum.value};  // where a slice before may have
                                                                                   // ended
    if (p == pass::backward && (at == tokens{} || random.once_in(2))) at = s.length;
    const seconds budget = cost.time({s.id, {0}, s.length}, p, 0) * random.ratio();
    const cut_budget left{.time = budget, .size = {random.between(0, 130)}, .quantum = quantum};
    slice best{s.id, at, {0}};
    for (std::int64_t cut = 0; cut <= s.length.value + quantum.value; cut += quantum.value) {
      const tokens border{std::min(cut, s.length.value)};
      const slice tried = p == pass::forward ? slice{s.id, at, border - at} : slice{s.id, border, at - border};
      if (tried.length > best.length && tried.length <= left.size && cost.time(tried, p, 0) <= budget) best = tried;
    }
    EXPECT_EQ(slicers::equal_cost{}.next(s, at, p, left, static_cast<const staircase&>(cost)), best)
        << "seed 82, " << i;
    EXPECT_EQ(slicers::equal_cost{}.next(s, at, p, left, cost), best) << "seed 82, " << i;
  }
}

TEST(EqualCostSlicer, EndsWhateverTimesAre) {
  struct wrong {
    testing::generator* random;
    [[nodiscard]] seconds time(const slice&, pass, int) const {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      constexpr double answers[] = {
          std::numeric_limits<double>::quiet_NaN(), infinity, -infinity, -1, 0, 1e-300, 1, 1e300};
      return {answers[random->between(0, 7)]};
    }
  };
  testing::generator random(83);
  for (int i = testing::options{}.cases * tests::cases(1); i > 0; --i) {
    const sequence s{{0}, {random.between(1, 100000)}};
    const slice given = slicers::equal_cost{}.next(
        s, {0}, pass::forward, {.time = {random.ratio()}, .size = s.length, .quantum = {1}}, wrong{&random});
    EXPECT_GE(given.length, tokens{0}) << "seed 83";
    EXPECT_LE(given.length, s.length) << "seed 83";
  }
}

TEST(EqualCostSlicer, PrintsWhatWouldBuildIt) {
  std::ostringstream text;
  text << slicers::equal_cost{};
  EXPECT_EQ(text.str(), "slicers::equal_cost{}");
}

}  // namespace
}  // namespace slimpack::equal_cost_test
