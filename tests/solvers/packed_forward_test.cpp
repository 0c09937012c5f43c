#include <slimpack/basic_planner.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/baselines/named.hpp>
#include <slimpack/solvers/packed_forward.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include "../laws/cases.hpp"
#include "../support/random_forest.hpp"
#include "batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slimpack::packed_forward_test {
namespace {

const costs::quadratic cost{.linear = 1e-6, .attention = 1e-9, .per_pack = {6e-5}, .hop = {2e-5}};

template <class Recipe>
auto planner_of(const shape& on, const Recipe& recipe) {
  return basic_planner{on, recipe.slicer, cost, recipe.solver, recipe.schedule, simulators::sweep{}};
}

/// The evaluation of a baseline; nothing where it has none.
std::optional<result<plan>> evaluated(std::string_view name, const shape& on, const batch_view& batch,
                                      tokens context = {}) {
  return baselines::with_named(name, on, context,
                               [&](const auto& recipe) -> std::optional<result<plan>> {
                                 if constexpr (requires { recipe.solver.packed(problem{}, recipe.slicer, cost); })
                                   return planner_of(on, recipe).template plan_forward<solvers::packed_forward>(batch);
                                 else
                                   return std::nullopt;
                               })
      .value();
}

// All whose replicas share nothing evaluate, and no others: what they run forward in a step, in that order on every
// stage.
TEST(PackedForward, RunsTheForwardPacksOfTheStep) {
  for (int seed = 1; seed <= tests::cases(12); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const std::vector<tokens> lengths = tests::random_lengths(random, 30, {3000});
    const shape on{.stages = static_cast<int>(random.between(1, 4)),
                   .replicas = static_cast<int>(random.between(1, 3)),
                   .quantum = {16}};
    for (const std::string_view name : baselines::names) {
      const bool shares_none = std::find(baselines::sharing_none.begin(), baselines::sharing_none.end(), name) !=
                                   baselines::sharing_none.end() ||
                               name == "tree_micro_batches";
      const std::optional<result<plan>> made = evaluated(name, on, lengths);
      ASSERT_EQ(made.has_value(), shares_none) << name;
      if (!made) continue;
      ASSERT_TRUE(*made) << name << ": " << made->error().detail;
      const plan& p = made->value();
      EXPECT_TRUE(is_forward_only(p)) << name;
      EXPECT_TRUE(testing::plan_laws(p, cost)) << name << testing::plan_laws(p, cost) << "seed " << seed;
      const plan step =
          baselines::with_named(name, on, {}, [&](const auto& recipe) { return planner_of(on, recipe)(lengths); })
              .value()
              .value();
      for (std::size_t r = 0; r < p.replicas.size(); ++r) {
        EXPECT_EQ(p.replicas[r].partition.forward, step.replicas[r].partition.forward) << name;
        for (const program& code : p.replicas[r].programs) {
          ASSERT_EQ(code.size(), p.replicas[r].partition.forward.size());
          for (std::uint32_t i = 0; i < code.size(); ++i)
            EXPECT_EQ(code[i], (instruction{instruction_kind::forward, {i}, 0})) << name;
        }
      }
    }
  }
}

// Micro-batches of trees, with the copies that they have in a step.
TEST(PackedForward, RunsPartsOfTrees) {
  int copies = 0;
  for (int seed = 1; seed <= tests::cases(12); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const tests::random_forest batch(random, {.longest = {600}});
    const shape on{.stages = static_cast<int>(random.between(1, 4)),
                   .replicas = static_cast<int>(random.between(1, 3)),
                   .quantum = {16}};
    const plan p = evaluated("tree_micro_batches", on, batch).value().value();
    EXPECT_TRUE(is_forward_only(p));
    EXPECT_TRUE(testing::plan_laws(p, cost)) << testing::plan_laws(p, cost) << "seed " << seed;
    const plan step = planner_of(on, baselines::tree_micro_batches(on))(batch).value();
    EXPECT_EQ(p.copies, step.copies);
    for (std::size_t r = 0; r < p.replicas.size(); ++r)
      EXPECT_EQ(p.replicas[r].partition.forward, step.replicas[r].partition.forward) << "seed " << seed;
    copies += !p.copies.empty();
  }
  EXPECT_GT(copies, 0);
}

//  Packs of at most 20 tokens of a second a token each on 2 stages: first-fit decreasing makes {20}, {12, 8}, {5}. 20 +
//  20 + 20 + 5 = 65 s.
TEST(PackedForward, TakesTheTimeWorkedOutByHand) {
  const shape on{.stages = 2, .quantum = {1}};
  const auto usual = baselines::megatron(on, {20});
  const basic_planner plan_batch{on,           usual.slicer,   costs::quadratic{.linear = 1, .attention = 0},
                                 usual.solver, usual.schedule, simulators::sweep{}};
  const plan p = plan_batch.plan_forward<solvers::packed_forward>(tests::lengths_of({5, 12, 20, 8})).value();
  EXPECT_EQ(p.replicas[0].partition.forward.size(), 3u);
  EXPECT_EQ(p.step_time, seconds{65});
}

// Groups of as many packs as there are stages pass chunk after chunk, as forward_search has them.
TEST(PackedForward, RunsVirtualStagesInGroups) {
  const plan p =
      evaluated("megatron", {.stages = 2, .chunks = 2}, tests::lengths_of({10, 10, 10}), {10}).value().value();
  const auto forward = [](std::uint32_t pack, std::uint32_t chunk) {
    return instruction{instruction_kind::forward, {pack}, chunk};
  };
  EXPECT_EQ(p.replicas[0].programs[1],
            (program{forward(0, 0), forward(1, 0), forward(0, 1), forward(1, 1), forward(2, 0), forward(2, 1)}));
  EXPECT_TRUE(testing::plan_laws(p, cost)) << testing::plan_laws(p, cost);
}

TEST(PackedForward, SaysWhyThereIsNoPlan) {
  const std::vector<tokens> lengths = tests::lengths_of({1000, 300});
  EXPECT_EQ(evaluated("megatron", {}, lengths, {999})->error().code, errc::invalid_input) << "longer than a pack";
  EXPECT_EQ(evaluated("megatron", {.memory = memory_limit{memory_unit::token, 999}}, lengths)->error().code,
            errc::out_of_memory);
  const shape on{.stages = 2};
  const auto lending = baselines::slimpipe(on, {}, 2, attention_lending::level);
  const result<plan> none = planner_of(on, lending).plan_forward<solvers::packed_forward>(lengths);
  ASSERT_FALSE(none);
  EXPECT_EQ(
      none.error().detail,
      "lending level is between lock steps of a training step, which an evaluation does not have: choose lending none");
}

}  // namespace
}  // namespace slimpack::packed_forward_test
