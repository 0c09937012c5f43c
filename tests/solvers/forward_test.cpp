#include <slimpack/costs/quadratic.hpp>
#include <slimpack/simulators/bounds/forward_bounds.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/forward.hpp>
#include <slimpack/solvers/refined.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/testing/naive/slices.hpp>

#include "../laws/cases.hpp"
#include "batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace slimpack::forward_test {
namespace {

using solvers::forward_search;

const costs::quadratic cost{.per_pack = {6e-5}, .hop = {2e-5}};

result<solution> solved(const std::vector<tokens>& lengths, const shape& on, std::size_t threads = 1,
                        const solvers::search_options& options = solvers::default_search_options) {
  return forward_search::solve({lengths, on}, slicers::equal_cost{}, cost, threads, options);
}

// Each sequence is on one replica, whose packs have all of it in order; no replica runs backward, and all have their
// programs.
TEST(ForwardSearch, HasEachSequenceOnceAndNothingBackward) {
  for (int seed = 1; seed <= tests::cases(30); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const std::vector<tokens> lengths = tests::random_lengths(random, 20, {4000});
    const shape on{.stages = static_cast<int>(random.between(1, 3)),
                   .replicas = static_cast<int>(random.between(1, 4))};
    const solution found = solved(lengths, on).value();
    ASSERT_EQ(found.replicas.size(), static_cast<std::size_t>(on.replicas));
    EXPECT_TRUE(found.merges.empty());
    std::vector<int> times(lengths.size());
    for (const replica_solution& r : found.replicas) {
      EXPECT_TRUE(r.partition.backward.empty());
      EXPECT_EQ(r.programs.size(), static_cast<std::size_t>(on.stages)) << "seed " << seed;
      const auto slices = testing::naive::by_sequence(r.partition.forward);
      EXPECT_EQ(slices.size(), r.sequences.size());
      for (const sequence_id id : r.sequences) {
        ++times[id.value];
        EXPECT_EQ(testing::naive::gap(slices.at(id), {id, {0}, lengths[id.value]}, pass::forward), std::nullopt)
            << "seed " << seed;
      }
    }
    EXPECT_EQ(times, std::vector<int>(lengths.size(), 1)) << "seed " << seed;
  }
}

/// The first part takes a little for a sequence, however long it is; the second a second a token.
struct uneven : costs::quadratic {
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    return part == 0 ? seconds{1e-3} : quadratic::time(s, p, part);
  }
};

// 4000 tokens weigh as much as all of the others together, on the busiest part.
TEST(ForwardSearch, BalancesByWorkOnTheBusiestPart) {
  const uneven dear{{.linear = 1, .attention = 0}};
  const std::vector<tokens> lengths = tests::lengths_of({1000, 4000, 1000, 1000, 1000});
  const shape on{.stages = 2, .replicas = 2};
  const solution found = forward_search::solve({lengths, on}, slicers::equal_cost{}, dear, 1).value();
  for (const replica_solution& r : found.replicas)
    EXPECT_TRUE(r.sequences.size() == 1 ? r.sequences[0] == sequence_id{1} : r.sequences.size() == 4);
}

TEST(ForwardSearch, LeavesReplicasWithoutSequencesProgramsWithoutPacks) {
  const solution found = solved(tests::lengths_of({700}), {.stages = 3, .replicas = 2}).value();
  const auto idle = std::find_if(found.replicas.begin(), found.replicas.end(),
                                 [](const replica_solution& r) { return r.sequences.empty(); });
  ASSERT_NE(idle, found.replicas.end());
  EXPECT_TRUE(idle->partition.forward.empty());
  EXPECT_EQ(idle->programs, std::vector<program>(3));
}

// What packs cost besides is least in one, and on one stage nothing waits. The sum of the sequences' times may round
// below that of the pack.
TEST(ForwardSearch, HasOnePackOnOneStage) {
  for (int seed = 1; seed <= tests::cases(40); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const std::vector<tokens> lengths = tests::random_lengths(random, 60, {4000});
    EXPECT_EQ(solved(lengths, {.stages = 1}).value().replicas[0].partition.forward.size(), 1u) << "seed " << seed;
  }
}

TEST(ForwardSearch, AnswersAlikeOnAnyNumberOfThreads) {
  testing::generator random(7);
  const std::vector<tokens> lengths = tests::random_lengths(random, 40, {4000});
  const shape on{.stages = 2, .replicas = 5};
  const solution one = solved(lengths, on, 1).value(), three = solved(lengths, on, 3).value();
  for (std::size_t r = 0; r < 5; ++r) {
    EXPECT_EQ(one.replicas[r].sequences, three.replicas[r].sequences);
    EXPECT_EQ(one.replicas[r].partition, three.replicas[r].partition);
    EXPECT_EQ(one.replicas[r].programs, three.replicas[r].programs);
  }
}

TEST(ForwardSearch, SaysWhyThereIsNoPlan) {
  const std::vector<tokens> lengths = tests::lengths_of({1000, 300});
  EXPECT_EQ(solved(lengths, {.memory = memory_limit{memory_unit::byte, 1e9}}).error().code, errc::invalid_input)
      << "the model knows no bytes";
  EXPECT_EQ(solved(lengths, {}, 1, {.even_step = 1}).error().code, errc::invalid_input);
  EXPECT_EQ(solved(lengths, {.memory = memory_limit{memory_unit::token, 999}}).error().code, errc::out_of_memory);
  EXPECT_TRUE(solved(lengths, {.memory = memory_limit{memory_unit::token, 1000}}));
}

TEST(ForwardSearch, IsTunedByTheSolversOptions) {
  const solvers::two_phase tuned{.options = {.evaluation_growth = 2}};
  EXPECT_EQ(forward_search::options_of(tuned).evaluation_growth, 2);
  EXPECT_EQ(forward_search::options_of(solvers::refined<solvers::two_phase>{tuned}).evaluation_growth, 2);
  struct untuned {};
  EXPECT_EQ(&forward_search::options_of(untuned{}), &solvers::default_search_options);
}

// Each replica's own bound is that of what it runs, were it alone.
TEST(ForwardSearch, BoundsEachReplicaByItsOwnSequences) {
  plan p;
  p.lengths = tests::lengths_of({100, 30, 20});
  p.shape = {.stages = 2, .replicas = 3, .quantum = {10}};
  p.replicas.resize(3);
  p.replicas[0].sequences = {{1}, {2}};
  p.replicas[1].sequences = {{0}};
  const costs::quadratic plain{.linear = 1, .attention = 0};
  forward_search::bound_replicas(p, plain);
  EXPECT_EQ(p.replicas[0].lower_bound, seconds{10 + 50});  // on stage 1, behind a quantum, or on stage 0, before one
  EXPECT_EQ(p.replicas[1].lower_bound, seconds{10 + 100});
  EXPECT_EQ(p.replicas[2].lower_bound, seconds{0});
}

}  // namespace
}  // namespace slimpack::forward_test
