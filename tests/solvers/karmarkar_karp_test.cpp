#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/karmarkar_karp.hpp>

#include "../laws/cases.hpp"
#include "batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::karmarkar_karp_test {
namespace {

std::vector<double> sums(const std::vector<double>& weight, std::size_t bins) {
  std::vector<double> found(bins, 0.0);
  std::size_t bin = 0;
  for (const std::vector<std::uint32_t>& subset : detail::largest_differencing(weight, bins)) {
    for (const std::uint32_t i : subset) found[bin] += weight[i];
    ++bin;
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

/// The textbook: a list of tuples, the two of the widest spread merged, heaviest with lightest.
std::vector<double> textbook(const std::vector<double>& weight, std::size_t bins) {
  std::vector<std::vector<double>> tuples;  // each heaviest first
  for (const double w : weight) {
    tuples.emplace_back(bins, 0.0);
    tuples.back()[0] = w;
  }
  const auto spread = [](const std::vector<double>& t) { return t.front() - t.back(); };
  while (tuples.size() > 1) {
    std::sort(tuples.begin(), tuples.end(), [&](const auto& a, const auto& b) { return spread(a) > spread(b); });
    for (std::size_t k = 0; k < bins; ++k) tuples[0][k] += tuples[1][bins - 1 - k];
    std::sort(tuples[0].rbegin(), tuples[0].rend());
    tuples.erase(tuples.begin() + 1);
  }
  return tuples[0];
}

result<solution> solved(const std::vector<tokens>& lengths, const shape& on, solvers::karmarkar_karp solver = {}) {
  return solver.solve(problem{lengths, on}, slicers::whole{}, tests::per_token, schedules::one_f_one_b{.lead = 1});
}

// 8 - 7 = 1; 6 - 5 = 1; 4 - 1 = 3; 3 - 1 = 2: sides of 16 and 14.
TEST(LargestDifferencing, LeavesADifferenceOfTwoInTheClassicExample) {
  EXPECT_EQ(sums({8, 7, 6, 5, 4}, 2), (std::vector<double>{16, 14}));
}

// (8,0,0) (7,0,0) (6,0,0) (5,0,0) -> (8,7,0) -> (8,7,6), whose spread of 2 is less than that of the 5 left over; the 5
// joins the lightest: 11, 8, 7.
TEST(LargestDifferencing, MergesASmallPartIntoALargerOne) {
  EXPECT_EQ(sums({8, 7, 6, 5}, 3), (std::vector<double>{11, 8, 7}));
}

TEST(LargestDifferencing, IsTheTextbooks) {
  testing::generator random(51);
  for (int i = tests::cases(150); i > 0; --i) {
    std::vector<double> weight;  // with random fractions, so that no spreads tie
    for (std::int64_t n = random.between(1, 30); n > 0; --n)
      weight.push_back(static_cast<double>(random.length({1 << 20}).value) + random.ratio());
    const auto bins = static_cast<std::size_t>(random.between(1, 7));
    const std::vector<double> expected = textbook(weight, bins);
    const std::vector<double> found = sums(weight, bins);
    for (std::size_t b = 0; b < bins; ++b) EXPECT_NEAR(found[b], expected[b], 1e-6) << "seed 51, bins " << bins;
  }
}

TEST(KarmarkarKarp, BalancesReplicas) {
  const std::vector<tokens> lengths = tests::lengths_of({8, 7, 6, 5, 4});
  std::vector<std::int64_t> held;
  const solution found = solved(lengths, {.replicas = 2}, {.context = {30}}).value();
  for (const replica_solution& r : found.replicas) {
    EXPECT_EQ(r.partition.forward.size(), 1u);
    held.push_back(size_of(r.partition.forward.slices()).value);
  }
  EXPECT_EQ(held, (std::vector<std::int64_t>{16, 14}));
}

TEST(KarmarkarKarp, KeepsTheTokenLimitOfAMicroBatch) {
  testing::generator random(52);
  for (int i = tests::cases(60); i > 0; --i) {
    const std::vector<tokens> lengths = tests::random_lengths(random, 60, {4096});
    const tokens context = tests::longest_of(lengths) + tokens{random.between(0, 4096)};
    const shape on{.stages = 2, .replicas = static_cast<int>(random.between(1, 4))};
    const solution found = solved(lengths, on, {.context = context}).value();
    for (const replica_solution& r : found.replicas) {
      EXPECT_EQ(r.partition.forward, r.partition.backward);
      for (std::size_t k = 0; k < r.partition.forward.size(); ++k)
        EXPECT_LE(size_of(r.partition.forward[k]), context) << "seed 52, case " << i;
    }
  }
}

// 10 tokens in packs of at most 6 need two; differencing gives 5 + 5 and not 6 + 4.
TEST(KarmarkarKarp, MakesAsFewMicroBatchesAsTheLimitAllows) {
  const std::vector<tokens> lengths = tests::lengths_of({4, 3, 2, 1});
  const solution found = solved(lengths, {}, {.context = {6}}).value();
  ASSERT_EQ(found.replicas[0].partition.forward.size(), 2u);
  EXPECT_EQ(size_of(found.replicas[0].partition.forward[0]), tokens{5});
  EXPECT_EQ(size_of(found.replicas[0].partition.forward[1]), tokens{5});
}

TEST(KarmarkarKarp, RefusesASequenceLongerThanItsContext) {
  const result<solution> found = solved(tests::lengths_of({4, 300}), {}, {.context = {128}});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::invalid_input);
  EXPECT_EQ(found.error().detail, "a sequence of 300 tokens exceeds the pack length of 128");
}

TEST(KarmarkarKarp, LeavesReplicasEmptyWhenSequencesAreFew) {
  const solution found = solved(tests::lengths_of({4, 3}), {.stages = 3, .replicas = 4}).value();
  ASSERT_EQ(found.replicas.size(), 4u);
  std::size_t empty = 0;
  for (const replica_solution& r : found.replicas) {
    EXPECT_EQ(r.programs.size(), 3u);
    if (r.sequences.empty()) ++empty;
  }
  EXPECT_EQ(empty, 2u);
}

}  // namespace
}  // namespace slimpack::karmarkar_karp_test
