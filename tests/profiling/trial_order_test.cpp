#include <slimpack/profiling/detail/trial_order.hpp>

#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace slimpack::trial_order_test {
namespace {

using profiling::trial;
using profiling::trial_size;
using profiling::trials_for;
using profiling::detail::trial_order;

constexpr double unknown = std::numeric_limits<double>::infinity();

/// A machine on which a trial takes a sum over what it has, none of it negative.
struct machine {
  double call, slice, token, pair;
  [[nodiscard]] seconds time(const trial& t) const {
    const trial_size s = size_of(t);
    return {call * s.calls + slice * s.slices + token * s.tokens + pair * s.pairs};
  }
};
machine random_machine(testing::generator& random) {
  const auto any = [&](double most) {
    return random.between(0, 3) == 0 ? 0 : most * 0.01 * static_cast<double>(random.between(1, 100));
  };
  return {any(1e-3), any(1e-4), 1e-9 + any(1e-5), any(1e-7)};
}

struct run_of_all {
  std::vector<std::size_t> order;
  seconds elapsed{};
};

/// error(index, runs): what is told after so many runs of a trial.
template <class Error>
run_of_all run_all(trial_order& order, const std::vector<trial>& all, const machine& on, const Error& error) {
  run_of_all made;
  std::vector<int> runs(all.size());
  while (const std::optional<std::size_t> index = order.next()) {
    const seconds took = on.time(all[*index]);
    made.order.push_back(*index);
    made.elapsed += took;
    order.ran(*index, made.elapsed, took, error(*index, ++runs[*index]));
  }
  return made;
}

seconds of_smallest(const std::vector<trial>& all, const machine& on) {
  seconds sum{};
  for (std::size_t i = 0; i < std::min(trial_order::least, all.size()); ++i) sum += on.time(all[i]);
  return sum;
}

// Where a time is a sum over calls, slices, tokens and pairs, no estimate is too short, and the budget holds, but for
// the smallest trials. Whatever the budget is, those that ran and those dropped are all.
TEST(TrialOrder, KeepsToTheBudget) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    testing::generator random(seed);
    const std::vector<trial> all =
        trials_for({random.between(1, 5000)}, {random.between(1, 128)}, random.between(0, 1) == 0);
    const machine on = random_machine(random);
    seconds round{};
    for (const trial& t : all) round += on.time(t);
    const seconds budget = round * (0.01 * static_cast<double>(random.between(0, 300)));
    trial_order order(all, budget);
    const run_of_all made = run_all(order, all, on, [](std::size_t, int) { return unknown; });
    EXPECT_LE(made.elapsed, std::max(budget * (1 + 1e-12), of_smallest(all, on))) << "seed " << seed;
    std::vector<int> met(all.size());
    for (const std::size_t i : made.order) met[i] = 1;
    for (const std::size_t i : order.dropped()) EXPECT_EQ(met[i]++, 0) << "seed " << seed;
    EXPECT_EQ(std::count(met.begin(), met.end(), 1), static_cast<std::ptrdiff_t>(all.size())) << "seed " << seed;
  }
}

TEST(TrialOrder, RunsAFewOfTheSmallestWithoutAnyBudget) {
  const std::vector<trial> all = trials_for({1000}, {16}, false);
  trial_order order(all, {});
  const run_of_all made = run_all(order, all, {1e-3, 0, 1e-6, 0}, [](std::size_t, int) { return 0.5; });
  EXPECT_EQ(made.order, (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(order.dropped().size(), all.size() - 4);
  EXPECT_EQ(order.error(), 0.5);
}

TEST(TrialOrder, EndsOnceAllAreStable) {
  const std::vector<trial> all = trials_for({1000}, {16}, false);
  trial_order order(all, {1e9});
  const run_of_all made = run_all(order, all, {1e-3, 0, 1e-6, 0},
                                  [](std::size_t, int runs) { return 0.02 / std::sqrt(static_cast<double>(runs)); });
  EXPECT_TRUE(order.dropped().empty());
  EXPECT_LE(order.error(), trial_order::stable);
  EXPECT_EQ(made.order.size(), 4 * all.size());  // 0.02 / sqrt(4) = 0.01
}

// Trial 2 has the largest error, then 5; the others are stable after the first round.
TEST(TrialOrder, GoesOnWithThoseOfTheLargestError) {
  const std::vector<trial> all = trials_for({300}, {16}, false);
  trial_order order(all, {1e9});
  const auto error = [](std::size_t index, int runs) {
    return runs < 3 && (index == 2 || index == 5) ? (index == 2 ? 0.5 : 0.1) : 0.001;
  };
  std::vector<std::size_t> expected;
  for (std::size_t i = 0; i < all.size(); ++i) expected.push_back(i);
  for (const std::size_t i : {2u, 5u, 2u, 5u}) expected.push_back(i);
  EXPECT_EQ(run_all(order, all, {1e-3, 0, 0, 0}, error).order, expected);
}

// A trial that no longer fits is passed over for one that does.
TEST(TrialOrder, FillsTheRestOfTheBudgetWithWhatFits) {
  const std::vector<trial> all = trials_for({4096}, {64}, false);
  const machine on{1e-6, 0, 1e-6, 1e-9};
  seconds round{};
  for (const trial& t : all) round += on.time(t);
  const seconds largest = on.time(all.back()), smallest = on.time(all.front());
  trial_order order(all, round + largest * 0.5);
  const run_of_all made = run_all(order, all, on, [](std::size_t, int) { return unknown; });
  EXPECT_GT(made.order.size(), all.size());
  EXPECT_LT(round + largest * 0.5 - made.elapsed, smallest);
}

}  // namespace
}  // namespace slimpack::trial_order_test
