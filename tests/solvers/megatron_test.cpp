#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>

#include "../laws/cases.hpp"
#include "batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace slimpack::megatron_test {
namespace {

using lengths_by_pack = std::vector<std::vector<std::int64_t>>;

result<solution> solved(const std::vector<tokens>& lengths, const shape& on, tokens context) {
  return solvers::megatron{.context = context}.solve(problem{lengths, on}, slicers::whole{}, tests::per_token,
                                                     schedules::one_f_one_b{.lead = 1});
}

lengths_by_pack packs_of(const std::vector<tokens>& lengths, tokens context) {
  return tests::members(solved(lengths, {}, context).value().replicas[0].partition.forward);
}

/// Every bin looked at in turn.
lengths_by_pack first_fit_decreasing(std::vector<tokens> lengths, tokens context) {
  std::stable_sort(lengths.begin(), lengths.end(), std::greater<>());
  lengths_by_pack bins;
  std::vector<std::int64_t> room;
  for (const tokens t : lengths) {
    std::size_t b = 0;
    while (b < bins.size() && room[b] < t.value) ++b;
    if (b == bins.size()) bins.emplace_back(), room.push_back(context.value);
    bins[b].push_back(t.value);
    room[b] -= t.value;
  }
  return bins;
}

TEST(Megatron, PacksFirstFitDecreasing) {
  EXPECT_EQ(packs_of(tests::lengths_of({5, 2, 6, 4, 3}), {10}), (lengths_by_pack{{6, 4}, {5, 3, 2}}));
}

// D. S. Johnson's family: 9 packs hold everything (six of 51 26 23, three of 27 27 23 23), first fit decreasing needs
// six of 51 27, two of 26 26 26 and three of 23 23 23 23.
TEST(Megatron, NeedsElevenPacksWhereNineWouldDo) {
  std::vector<tokens> lengths;
  for (const auto& [count, size] : {std::pair{6, 51}, {6, 27}, {6, 26}, {12, 23}})
    lengths.insert(lengths.end(), static_cast<std::size_t>(count), tokens{size});
  EXPECT_EQ(packs_of(lengths, {100}).size(), 11u);
}

TEST(Megatron, IsTheNaiveFirstFit) {
  testing::generator random(61);
  for (int i = tests::cases(100); i > 0; --i) {
    const std::vector<tokens> lengths = tests::random_lengths(random, 200, {4096});
    const tokens context = tests::longest_of(lengths) + tokens{random.between(0, 8192)};
    EXPECT_EQ(packs_of(lengths, context), first_fit_decreasing(lengths, context)) << "seed 61, case " << i;
  }
}

TEST(Megatron, TakesTheLongestSequenceAsItsContext) {
  EXPECT_EQ(packs_of(tests::lengths_of({3, 3, 7, 4}), {}), (lengths_by_pack{{7}, {4, 3}, {3}}));
}

// Packs 9, 8, 7, 6, 5 in the order they were opened, dealt to two replicas like cards.
TEST(Megatron, DealsPacksToReplicasInTurn) {
  const solution found = solved(tests::lengths_of({5, 6, 7, 8, 9}), {.stages = 2, .replicas = 2}, {9}).value();
  EXPECT_EQ(tests::members(found.replicas[0].partition.forward), (lengths_by_pack{{9}, {7}, {5}}));
  EXPECT_EQ(tests::members(found.replicas[1].partition.forward), (lengths_by_pack{{8}, {6}}));
  for (const replica_solution& r : found.replicas) EXPECT_EQ(r.partition.forward, r.partition.backward);
}

TEST(Megatron, RefusesASequenceLongerThanItsContext) {
  const result<solution> found = solved(tests::lengths_of({10, 11}), {}, {10});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::invalid_input);
  EXPECT_EQ(found.error().detail, "a sequence of 11 tokens exceeds the pack length of 10");
}

}  // namespace
}  // namespace slimpack::megatron_test
