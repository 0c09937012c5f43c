#include <slimpack/simulators/remap/remapped_step.hpp>

#include <slimpack/costs/quadratic.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/solvers/baselines/context_parallel.hpp>
#include <slimpack/solvers/baselines/slimpipe.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

namespace slimpack::remapped_step_test {
namespace {

using simulators::remapped_step;

/// Rows of 8 bytes a token, half a second for each token that moves inside a node and two for one between nodes.
struct slow_rows {
  [[nodiscard]] static bytes token(int) { return {8}; }
  [[nodiscard]] static seconds time(tokens inside, tokens between, int) {
    return {0.5 * static_cast<double>(inside.value) + 2.0 * static_cast<double>(between.value)};
  }
};

plan planned(const shape& on, const std::vector<tokens>& lengths, const costs::quadratic& cost, tokens cap = {}) {
  const auto recipe = baselines::zeppelin(on, cap, {500, 2000, 2});
  return planner{on, recipe.slicer, cost, recipe.solver, recipe.schedule}(lengths).value();
}

// Two replicas of one stage, 30 and 10 tokens, a second a token forward and two backward: 90 s on the first. With 20 on
// each 60 s, and 10 tokens on their way in each pass: 2 x 5 s inside a node, 2 x 20 s between two.
TEST(RemappedStep, TakesTheMeanAndWhatItMoves) {
  const costs::quadratic cost{.linear = 1, .attention = 0};
  const shape on{.replicas = 2};
  const plan p = planned(on, {{30}, {10}}, cost, {30});
  ASSERT_TRUE(p.merges.empty());
  const remapped_step inside = remapped_step::of(p, cost, slow_rows{}, 2).value();
  EXPECT_DOUBLE_EQ(inside.planned.value, 90);
  EXPECT_DOUBLE_EQ(inside.together.value, 90);
  EXPECT_DOUBLE_EQ(inside.remapped.value, 60 + 10);
  EXPECT_DOUBLE_EQ(inside.moved.value, 2 * 10 * 8);
  const remapped_step between = remapped_step::of(p, cost, slow_rows{}, 1).value();
  EXPECT_DOUBLE_EQ(between.remapped.value, 60 + 40);
}

// Attention stays where it was: of the longest 8 x 9 / 2 pairs forward, 2.5 times so many backward.
TEST(RemappedStep, LeavesAttentionWhereItWas) {
  const costs::quadratic cost{.linear = 1, .attention = 0.25};
  const plan p = planned({.replicas = 2}, {{8}, {4}}, cost, {8});
  const remapped_step made = remapped_step::of(p, cost, slow_rows{}, 2).value();
  EXPECT_DOUBLE_EQ(made.planned.value, 3 * 8 + 3.5 * 0.25 * 36);
  EXPECT_DOUBLE_EQ(made.remapped.value, 3 * 6 + 3.5 * 0.25 * 36 + 2 * 2 * 0.5);
}

TEST(RemappedStep, OfOneStageIsTheSumOverMicroStepsOfTheirSlowestReplica) {
  double most = 0;
  for (std::uint64_t seed = 1; seed <= 60 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::generator random(seed);
    const costs::quadratic cost{.linear = 1e-6, .attention = 1e-10};
    const shape on{.replicas = static_cast<int>(random.between(2, 6)), .quantum = {64}};
    std::vector<tokens> lengths;
    for (std::int64_t n = random.between(2, 20); n > 0; --n) lengths.push_back(random.length({8192}));
    const plan p = planned(on, lengths, cost);
    struct small_rows {
      [[nodiscard]] static bytes token(int) { return {8}; }
      [[nodiscard]] static seconds time(tokens inside, tokens between, int) {
        return {1e-7 * static_cast<double>(inside.value) + 3e-7 * static_cast<double>(between.value)};
      }
    };
    const remapped_step made = remapped_step::of(p, cost, small_rows{}, 2).value();
    EXPECT_GE(made.together, made.planned * (1 - 1e-12));
    double together = 0, remapped = 0, moved = 0;
    for (const pass way : both_passes) {
      const auto steps = simulators::micro_steps(p, way).value();
      ASSERT_EQ(steps.size(), made.micro_steps[way].size());
      for (std::size_t k = 0; k < steps.size(); ++k) {
        const remapping& moves = made.micro_steps[way][k];
        double longest = 0, after = 0;
        for (std::uint32_t r = 0; r < steps[k].size(); ++r) {
          if (steps[k][r] == merge::none) continue;
          const tokens held = size_of(p.replicas[r].partition.of(way)[steps[k][r].value]);
          const double time = p.replicas[r].times.calls[way][steps[k][r].value].value;
          tokens sent_in, sent_out, got_in, got_out;
          for (const moved_tokens& m : moves.moves) {
            const bool crosses = m.from / 2 != m.to / 2;
            if (m.from == r) (crosses ? sent_out : sent_in) += m.count;
            if (m.to == r) (crosses ? got_out : got_in) += m.count;
          }
          const double rate = way == pass::forward ? 1e-6 : 2e-6;
          longest = std::max(longest, time);
          after =
              std::max(after, time + rate * static_cast<double>((moves.target[r] - held).value) +
                                  small_rows::time(std::max(sent_in, got_in), std::max(sent_out, got_out), 0).value);
        }
        together += longest, remapped += after, moved += 8.0 * static_cast<double>(moves.moved().value);
      }
    }
    EXPECT_NEAR(made.together.value, together, 1e-12 * together);
    EXPECT_NEAR(made.remapped.value, remapped, 1e-12 * remapped);
    EXPECT_EQ(made.moved.value, moved);
    most = std::max(most, made.moved.value);
  }
  EXPECT_GT(most, 0);
}

// Packs of one micro-step and packs that lend each other attention would be tied in two ways.
TEST(RemappedStep, RefusesPlansWhoseStagesLend) {
  const costs::quadratic cost{.linear = 1e-6, .attention = 4e-9};
  const shape on{.stages = 2, .replicas = 2, .quantum = {64}};
  const auto made = [&](attention_lending lending) {
    const auto recipe = baselines::slimpipe(on, {}, 4, lending);
    const plan p =
        planner{on, recipe.slicer, cost, recipe.solver, recipe.schedule}(std::vector<tokens>{{4096}, {4096}}).value();
    return remapped_step::of(p, cost, slow_rows{}, 2);
  };
  ASSERT_TRUE(made(attention_lending::none));
  const result<remapped_step> lent = made(attention_lending::level);
  ASSERT_FALSE(lent);
  EXPECT_EQ(lent.error().code, errc::invalid_input);
  EXPECT_EQ(lent.error().detail, "rows are remapped where no stages lend attention: plan with lending none");
}

// Slimpack's sharers have a piece of a row's head and one of its tail: as many tokens each, where the row's quanta
// divide, and two quanta apart at most. So a row's linear layers need no rows of others.
TEST(RemappedStep, HasNothingToMoveForRowsOfHeadsAndTails) {
  tokens most{};
  int rows = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    testing::generator random(seed);
    const shape on{.stages = static_cast<int>(random.between(1, 2)), .replicas = 4, .quantum = {64}};
    std::vector<tokens> lengths{{64 * random.between(400, 800)}};
    for (int i = 0; i < 6; ++i) lengths.push_back({random.between(1, 4096)});
    const plan p = planner{on, slicers::equal_cost{}, costs::quadratic{.hop = {1e-5}},
                           solvers::two_phase{.effort = solvers::search_budget::fast()}}(lengths)
                       .value();
    for (const merge& m : p.merges)
      for (const std::vector<pack_id>& row : m.forward) {
        std::vector<tokens> held;
        for (std::size_t k = 0; k < row.size(); ++k) {
          held.emplace_back();
          for (const slice& s : p.replicas[m.replicas[k]].partition.forward[row[k].value])
            if (s.sequence == m.sequence) held.back() += s.length;
        }
        most =
            std::max(most, *std::max_element(held.begin(), held.end()) - *std::min_element(held.begin(), held.end()));
        ++rows;
      }
  }
  std::cout << rows << " rows, sharers at most " << most.value << " tokens apart, quantum 64\n";
  EXPECT_GT(rows, 0);
  EXPECT_LE(most, tokens{2 * 64});
}

}  // namespace
}  // namespace slimpack::remapped_step_test
