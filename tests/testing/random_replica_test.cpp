#include <slimpack/testing/naive/slices.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace slimpack::random_replica_test {
namespace {

using testing::random_replica;

constexpr testing::options asked{.longest = {4096}, .quantum = {64}, .chunks = 3};

random_replica of_seed(int seed) {
  testing::generator random(static_cast<std::uint64_t>(seed));
  return testing::any_replica(asked, random);
}

TEST(RandomReplica, HasEveryTokenOnceInEachPassCutAtQuanta) {
  for (int seed = 1; seed <= tests::cases(200); ++seed) {
    const random_replica made = of_seed(seed);
    for (const pass p : both_passes) {
      const auto slices = testing::naive::by_sequence(made.packs.of(p));
      ASSERT_EQ(slices.size(), made.lengths.size()) << "seed " << seed;
      for (const auto& [id, own] : slices) {
        EXPECT_EQ(testing::naive::gap(own, {id, {0}, made.lengths[id.value]}, p), std::nullopt) << "seed " << seed;
        for (const slice& s : own) EXPECT_EQ(s.begin.value % asked.quantum.value, 0) << "seed " << seed;
      }
    }
  }
}

TEST(RandomReplica, KeepsToWhatIsAsked) {
  int several_chunks = 0, cut_differently = 0, whole = 0, memory = 0;
  const int cases = tests::cases(200);
  for (int seed = 1; seed <= cases; ++seed) {
    const random_replica made = of_seed(seed);
    const shape& on = made.work.shape;
    EXPECT_TRUE(on.stages >= 1 && on.stages <= 6 && on.chunks >= 1 && on.chunks <= asked.chunks) << "seed " << seed;
    EXPECT_EQ(on.quantum, asked.quantum);
    EXPECT_LE(made.lengths.size(), 10u);
    for (const tokens length : made.lengths)
      EXPECT_TRUE(length >= tokens{1} && length <= asked.longest) << "seed " << seed;
    EXPECT_EQ(made.work.rates.size(), static_cast<std::size_t>(on.stages));
    for (const pass p : both_passes)
      EXPECT_EQ(made.work.times.calls[p].size(), made.packs.of(p).size() * static_cast<std::size_t>(on.parts()));
    several_chunks += on.chunks > 1;
    cut_differently += made.packs.forward.size() != made.packs.backward.size();
    memory += made.work.rates != std::vector<memory_rates>(made.work.rates.size());
    const std::vector<seconds>& times = made.work.times.calls[pass::forward];
    whole += std::all_of(times.begin(), times.end(), [](seconds s) { return s.value == std::floor(s.value); });
  }
  for (const int some : {several_chunks, cut_differently, whole, memory}) {
    EXPECT_GT(some, cases / 5);
    EXPECT_LT(some, cases);
  }
}

TEST(RandomReplica, IsTheSameForEqualSeeds) {
  const random_replica one = of_seed(5), other = of_seed(5);
  EXPECT_EQ(one.lengths, other.lengths);
  EXPECT_EQ(one.packs, other.packs);
  EXPECT_EQ(one.work.times.calls[pass::forward], other.work.times.calls[pass::forward]);
  EXPECT_NE(one.packs, of_seed(6).packs);
}

// What B leaves W has, to the bit where times are quarters; what is not apart is as it was.
TEST(RandomReplica, SplitsWeightGradientsOfTheTimeOfBackward) {
  std::size_t apart = 0, together = 0;
  for (int seed = 1; seed <= tests::cases(100); ++seed) {
    random_replica made = of_seed(seed);
    const std::vector<seconds> before = made.work.times.calls[pass::backward];
    testing::generator random(static_cast<std::uint64_t>(seed));
    testing::split_weights(made, random);
    const auto parts = static_cast<std::size_t>(made.work.shape.parts());
    ASSERT_EQ(made.work.times.apart.flags.size(), made.work.times.packs(pass::backward));
    for (std::size_t cell = 0; cell < before.size(); ++cell) {
      const bool splits = made.work.times.apart.splits(cell / parts);
      ++(splits ? apart : together);
      EXPECT_DOUBLE_EQ(
          (made.work.times.calls[pass::backward][cell] + made.work.times.calls[instruction_kind::weights][cell]).value,
          before[cell].value)
          << "seed " << seed;
      EXPECT_TRUE(splits || made.work.times.calls[instruction_kind::weights][cell] == seconds{}) << "seed " << seed;
    }
  }
  EXPECT_GT(apart, 0u);
  EXPECT_GT(together, 0u);
}

// For the same time in all, or for a launch of 0.05 s more in each part.
TEST(RandomReplica, OffersWeightGradientsForTheirTimeOrALaunchMore) {
  int free = 0, dearer = 0;
  for (int seed = 1; seed <= tests::cases(40); ++seed) {
    random_replica made = of_seed(seed);
    testing::generator random(static_cast<std::uint64_t>(seed));
    testing::offer_weights(made, random);
    const std::vector<seconds>& whole = made.work.times.calls[pass::backward];
    ASSERT_EQ(made.work.split.inputs.size(), whole.size());
    ASSERT_EQ(made.work.split.weights.size(), whole.size());
    bool launches = false;
    for (std::size_t cell = 0; cell < whole.size(); ++cell) {
      const double more = (made.work.split.inputs[cell] + made.work.split.weights[cell] - whole[cell]).value;
      if (whole[cell] <= seconds{}) continue;
      launches = launches || more > 1e-9;
      EXPECT_GE(more, -1e-12 * whole[cell].value) << "seed " << seed;
    }
    ++(launches ? dearer : free);
  }
  EXPECT_GT(free, 0);
  EXPECT_GT(dearer, 0);
}

// The scores of a piece, which no cut of either pass divides: a number of bytes, rounded up, for each of its queries
// and each key up to its end, more on later stages. All of it is let go of backward.
TEST(RandomReplica, KeepsTheScoresOfEveryPiece) {
  for (int seed = 1; seed <= tests::cases(40); ++seed) {
    random_replica made = of_seed(seed);
    testing::generator random(static_cast<std::uint64_t>(seed));
    testing::keep_scores(made, random);
    std::map<sequence_id, std::set<tokens>> cuts;
    for (const pass p : both_passes)
      for (const slice& s : made.packs.of(p).slices()) cuts[s.sequence].insert({s.begin, s.end()});
    const std::size_t forwards = made.work.times.packs(pass::forward),
                      backwards = made.work.times.packs(pass::backward);
    for (int stage = 0; stage < made.work.shape.stages; ++stage) {
      double all = 0;
      for (const auto& [id, places] : cuts)
        for (auto end = std::next(places.begin()); end != places.end(); ++end)
          all += std::ceil(made.scores.per_score * (stage + 1) *
                           static_cast<double>((*end - *std::prev(end)).value * end->value));
      EXPECT_EQ(made.work.kept(static_cast<std::size_t>(stage), forwards, 0), all) << "seed " << seed;
      EXPECT_EQ(made.work.kept(static_cast<std::size_t>(stage), forwards, backwards), 0) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace slimpack::random_replica_test
