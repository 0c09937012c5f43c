#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/dp_balanced.hpp>

#include "../laws/cases.hpp"
#include "batches.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::dp_balanced_test {
namespace {

using lengths_by_pack = std::vector<std::vector<std::int64_t>>;

result<solution> solved(const std::vector<tokens>& lengths, const shape& on, tokens context) {
  return solvers::dp_balanced{.context = context}.solve(problem{lengths, on}, slicers::whole{}, tests::per_token,
                                                        schedules::one_f_one_b{});
}

/// Packs gathered from the replicas again, in the order in which they were dealt.
std::vector<std::vector<slice>> dealt_packs(const solution& all) {
  std::vector<std::vector<slice>> packs;
  for (std::size_t i = 0;; ++i) {
    const micropacks& hand = all.replicas[i % all.replicas.size()].partition.forward;
    if (i / all.replicas.size() == hand.size()) return packs;
    packs.emplace_back(hand[i / all.replicas.size()].begin(), hand[i / all.replicas.size()].end());
  }
}

TEST(DpBalanced, PacksNextFitInArrivalOrder) {
  EXPECT_EQ(
      tests::members(solved(tests::lengths_of({4, 5, 6, 3, 1, 9}), {}, {10}).value().replicas[0].partition.forward),
      (lengths_by_pack{{4, 5}, {6, 3, 1}, {9}}));
}

// Three packs, as above, are odd: the fullest of several sequences, 6 3 1, is halved into 6 and 3 1.
TEST(DpBalanced, HalvesTheFullestPackForAMultipleOfReplicas) {
  const solution found = solved(tests::lengths_of({4, 5, 6, 3, 1, 9}), {.replicas = 2}, {10}).value();
  EXPECT_EQ(tests::members(found.replicas[0].partition.forward), (lengths_by_pack{{4, 5}, {3, 1}}));
  EXPECT_EQ(tests::members(found.replicas[1].partition.forward), (lengths_by_pack{{6}, {9}}));
}

TEST(DpBalanced, GivesEveryReplicaTheSameNumberOfPacksInArrivalOrder) {
  testing::generator random(71);
  for (int i = tests::cases(80); i > 0; --i) {
    const std::vector<tokens> lengths = tests::random_lengths(random, 60, {4096});
    const shape on{.stages = 2,
                   .replicas = static_cast<int>(random.between(1, 5)),
                   .chunks = static_cast<int>(random.between(1, 2))};
    const tokens context = tests::longest_of(lengths) + tokens{random.between(0, 8192)};
    const std::vector<std::vector<slice>> packs = dealt_packs(solved(lengths, on, context).value());
    std::uint32_t next = 0;
    for (const std::vector<slice>& pack : packs) {
      EXPECT_LE(size_of(pack), context);
      for (const slice& s : pack) EXPECT_EQ(s.sequence.value, next++) << "seed 71, case " << i;
    }
    EXPECT_EQ(next, lengths.size());
    const bool can = packs.size() < lengths.size();  // else every pack holds one sequence
    EXPECT_TRUE(!can || packs.size() % static_cast<std::size_t>(on.replicas * on.chunks) == 0) << "seed 71, case " << i;
  }
}

TEST(DpBalanced, LeavesReplicasEmptyWhenSequencesAreFew) {
  const solution found = solved(tests::lengths_of({4, 4}), {.replicas = 3}, {}).value();
  ASSERT_EQ(found.replicas.size(), 3u);
  EXPECT_TRUE(found.replicas[2].partition.forward.empty());
  EXPECT_EQ(found.replicas[2].programs.size(), 1u);
}

TEST(DpBalanced, RefusesASequenceLongerThanItsContext) {
  const result<solution> found = solved(tests::lengths_of({10, 11}), {}, {10});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::invalid_input);
}

}  // namespace
}  // namespace slimpack::dp_balanced_test
