#include <slimpack/basic_planner.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/simulators/remap/remapped_step.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/baselines/context_parallel.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::micro_steps_test {
namespace {

plan planned(const shape& on, const std::vector<tokens>& lengths) {
  const auto recipe = baselines::zeppelin(on, {}, {500, 2000, 2});
  return basic_planner{
      on, recipe.slicer, costs::quadratic{}, recipe.solver, recipe.schedule, simulators::sweep{}}(lengths)
      .value();
}

/// Replicas of so many packs a pass each, of one token of a sequence of its own.
plan with_packs(const std::vector<std::uint32_t>& counts) {
  plan p;
  std::uint32_t next = 0;
  for (const std::uint32_t count : counts) {
    replica_plan& r = p.replicas.emplace_back();
    for (std::uint32_t i = 0; i < count; ++i, ++next)
      for (micropacks* packs : {&r.partition.forward, &r.partition.backward})
        packs->push({{next}, {0}, {1}}), packs->close();
  }
  return p;
}

constexpr pack_id none = merge::none;
using packs_of_steps = std::vector<std::vector<pack_id>>;

// Nothing ties them, so that each pack is as early as those before it on its replica let it be.
TEST(MicroSteps, OfReplicasThatShareNothingAreTheirRunOrders) {
  const plan p = with_packs({3, 1, 0});
  EXPECT_EQ(simulators::micro_steps(p, pass::forward).value(),
            (packs_of_steps{{{0}, {0}, none}, {{1}, none, none}, {{2}, none, none}}));
}

// The third pack of replica 0 and the first of replica 1 are a row forward; the second of replica 1 comes after it.
// Backward nothing is shared.
TEST(MicroSteps, WaitForTheRowsOfOthers) {
  plan p = with_packs({3, 2});
  p.merges = {{.sequence = {0}, .replicas = {0, 1}, .forward = {{{2}, {0}}}, .backward = {}}};
  EXPECT_EQ(simulators::micro_steps(p, pass::forward).value(),
            (packs_of_steps{{{0}, none}, {{1}, none}, {{2}, {0}}, {none, {1}}}));
  EXPECT_EQ(simulators::micro_steps(p, pass::backward).value(), (packs_of_steps{{{0}, {0}}, {{1}, {1}}, {{2}, none}}));
}

// A sharer without tokens of a row is not held up by it.
TEST(MicroSteps, LeaveOutSharersWithoutTokens) {
  plan p = with_packs({2, 2, 1});
  p.merges = {{.sequence = {0}, .replicas = {0, 1, 2}, .forward = {{{1}, {0}, none}}, .backward = {}}};
  EXPECT_EQ(simulators::micro_steps(p, pass::forward).value(),
            (packs_of_steps{{{0}, none, {0}}, {{1}, {0}, none}, {none, {1}, none}}));
}

// Replica 0 runs the row of sequence 0 before that of sequence 1, replica 1 the other way round.
TEST(MicroSteps, AreNoneWhereRowsWaitForEachOther) {
  plan p = with_packs({2, 2});
  p.merges = {{.sequence = {0}, .replicas = {0, 1}, .forward = {{{0}, {1}}}, .backward = {}},
              {.sequence = {1}, .replicas = {0, 1}, .forward = {{{1}, {0}}}, .backward = {}}};
  const auto found = simulators::micro_steps(p, pass::forward);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::cyclic_schedule);
  EXPECT_TRUE(simulators::micro_steps(p, pass::backward));
}

// Replicas that share nothing have micro-steps, too; the packs of a row are of one.
TEST(MicroSteps, HoldEachPackOnceInOrderAndRowsWhole) {
  int lacking = 0;
  for (std::uint64_t seed = 1; seed <= 100 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::generator random(seed);
    const shape on{.stages = static_cast<int>(random.between(1, 3)),
                   .replicas = static_cast<int>(random.between(2, 6)),
                   .quantum = {64}};
    std::vector<tokens> lengths;
    for (std::int64_t n = random.between(1, 12); n > 0; --n) lengths.push_back(random.length({4096}));
    const plan p = planned(on, lengths);
    for (const pass way : both_passes) {
      const auto steps = simulators::micro_steps(p, way).value();
      std::vector<std::size_t> next(p.replicas.size());
      for (const std::vector<pack_id>& step : steps)
        for (std::size_t r = 0; r < step.size(); ++r) {
          if (step[r] == merge::none) {
            ++lacking;
            continue;
          }
          EXPECT_EQ(step[r].value, next[r]++);
        }
      for (std::size_t r = 0; r < next.size(); ++r) EXPECT_EQ(next[r], p.replicas[r].partition.of(way).size());
      for (const merge& m : p.merges)
        for (const std::vector<pack_id>& row : m.of(way)) {
          const auto holds = [&](const std::vector<pack_id>& step) { return step[m.replicas[0]] == row[0]; };
          const auto step = std::find_if(steps.begin(), steps.end(), holds);
          ASSERT_NE(step, steps.end());
          for (std::size_t k = 0; k < row.size(); ++k) EXPECT_EQ((*step)[m.replicas[k]], row[k]);
        }
    }
  }
  EXPECT_GT(lacking, 0);
}

}  // namespace
}  // namespace slimpack::micro_steps_test
