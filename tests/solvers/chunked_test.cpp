#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>

#include "../laws/cases.hpp"
#include "batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::chunked_test {
namespace {

using lengths_by_pack = std::vector<std::vector<std::int64_t>>;

template <class Slicer = slicers::equal_cost>
result<solution> solved(const std::vector<tokens>& lengths, const shape& on, tokens chunk, Slicer slicer = {}) {
  return solvers::chunked{.chunk = chunk}.solve(problem{lengths, on}, slicer, costs::quadratic{},
                                                schedules::one_f_one_b{});
}

std::vector<double> peaks(const replica_solution& r, const shape& on) {
  const std::vector<memory_rates> rates = rates_of(costs::quadratic{}, on).value();
  return simulators::peak_memory(price(r.partition, costs::quadratic{}, on, rates), r.programs);
}

// A quantum of one token: packs are exactly full. Backward, each sequence runs from its end.
TEST(Chunked, FillsPacksToTheLastTokenUnderAQuantumOfOne) {
  const solution found = solved(tests::lengths_of({5, 2, 10}), {.quantum = {1}}, {4}).value();
  EXPECT_EQ(tests::members(found.replicas[0].partition.forward), (lengths_by_pack{{4}, {1, 2, 1}, {4}, {4}, {1}}));
  EXPECT_EQ(tests::members(found.replicas[0].partition.backward), (lengths_by_pack{{4}, {1, 2, 1}, {4}, {4}, {1}}));
  EXPECT_EQ(found.replicas[0].partition.backward[0][0], (slice{{0}, {1}, {4}}));
  EXPECT_EQ(found.replicas[0].partition.backward[1][2], (slice{{2}, {9}, {1}}));
}

// A pack closes when not even the next cut fits, which is at most a quantum away; so less than a quantum is left.
TEST(Chunked, LeavesLessThanAQuantumInEveryPackButTheLast) {
  testing::generator random(81);
  for (int i = tests::cases(60); i > 0; --i) {
    const shape on{.stages = 3,
                   .replicas = static_cast<int>(random.between(1, 3)),
                   .quantum = {std::int64_t{1} << random.between(0, 8)}};
    const tokens chunk{on.quantum.value * random.between(1, 12) + random.between(0, on.quantum.value - 1)};
    const solution found = solved(tests::random_lengths(random, 40, {8192}), on, chunk).value();
    for (const replica_solution& r : found.replicas) {
      for (const pass p : {pass::forward, pass::backward}) {
        const micropacks& packs = r.partition.of(p);
        for (std::size_t k = 0; k < packs.size(); ++k) {
          EXPECT_LE(size_of(packs[k]), chunk) << "seed 81, case " << i;
          EXPECT_TRUE(k + 1 == packs.size() || size_of(packs[k]) + on.quantum > chunk) << "seed 81, case " << i;
        }
      }
    }
  }
}

TEST(Chunked, BalancesReplicasByTokensInArrivalOrder) {
  const solution found =
      solved(tests::lengths_of({100, 300, 200, 600}), {.replicas = 2, .quantum = {1}}, {1000}).value();
  EXPECT_EQ(tests::members(found.replicas[0].partition.forward), (lengths_by_pack{{600}}));
  EXPECT_EQ(tests::members(found.replicas[1].partition.forward), (lengths_by_pack{{100, 300, 200}}));
}

// Sequences of 16 chunks on 4 stages. With a lead of 2, stage 0 holds 16 chunks of the one that turns and 2 (p - 1) of
// the next; under a limit it runs as far ahead as fits.
TEST(Chunked, LowersItsLeadUnderAMemoryLimit) {
  const std::vector<tokens> lengths = tests::lengths_of({2048, 2048});
  for (const auto& [limit, peak] : {std::pair{100, 22}, {22, 22}, {21, 21}, {17, 17}, {16, 16}}) {
    shape on{.stages = 4};
    on.memory = memory_limit{memory_unit::token, 128.0 * limit};
    const result<solution> found = solved(lengths, on, {128});
    ASSERT_TRUE(found) << limit;
    EXPECT_EQ(peaks(found.value().replicas[0], on)[0], 128.0 * peak) << limit;
  }
}

TEST(Chunked, SaysByHowMuchItExceedsTheMemoryLimit) {
  shape on{.stages = 4};
  on.memory = memory_limit{memory_unit::token, 128.0 * 15};
  const result<solution> found = solved(tests::lengths_of({2048, 2048}), on, {128});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::out_of_memory);
  EXPECT_NE(found.error().detail.find("1920"), std::string::npos) << found.error().detail;
  EXPECT_NE(found.error().detail.find(" 128"), std::string::npos) << found.error().detail;
}

TEST(Chunked, RefusesASliceLongerThanItsChunk) {
  const result<solution> found = solved(tests::lengths_of({4096}), {}, {1024}, slicers::uniform{{2048}});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::out_of_memory);
  EXPECT_EQ(found.error().detail, "a slice of sequence 0 (4096 tokens) exceeds the pack limit of 1024 tokens");
}

}  // namespace
}  // namespace slimpack::chunked_test
