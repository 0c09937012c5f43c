#include <slimpack/costs/quadratic.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/transfer_order.hpp>
#include <slimpack/testing/detail/transfers_in_order.hpp>
#include <slimpack/testing/generator.hpp>

#include "../executors/spread_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <utility>
#include <variant>
#include <vector>

namespace slimpack::transfer_order_test {
namespace {

using simulators::transfer;
namespace transfers = simulators::transfers;

/// Two replicas of two stages share 16 tokens in one row of 8 each; each runs its half there and back.
plan one_row() {
  plan p;
  p.lengths = {{16}};
  p.shape = {.stages = 2, .replicas = 2, .quantum = {8}};
  p.replicas.resize(2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    p.replicas[r].sequences = {{0}};
    for (const pass way : both_passes)
      p.replicas[r].partition.of(way).append({{0}, {8 * r}, {8}}), p.replicas[r].partition.of(way).close();
    p.replicas[r].programs = {{{instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}},
                              {{instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}}};
  }
  p.merges = {{{0}, {0, 1}, {{{0}, {0}}}, {{{0}, {0}}}}};
  return p;
}

// No time is known, so all start at 0: rows of stage 0, then the messages of both replicas, rows of stage 1, and back.
TEST(TransferOrder, OfOneRowIsThatOfItsStages) {
  std::vector<transfer> order = simulators::transfer_order(one_row(), 1).value();
  const instruction f{instruction_kind::forward, {0}}, b{instruction_kind::backward, {0}};
  const auto rows = [](const instruction& i, std::uint32_t stage, std::uint32_t replica) {
    return transfer(transfers::rows{i, stage, replica});
  };
  const auto sent = [](const instruction& i, std::uint32_t stage, std::uint32_t replica, std::uint32_t receiver) {
    return transfer(transfers::message{i, stage, replica, receiver});
  };
  const std::vector<transfer> expected{rows(f, 0, 0),    rows(f, 0, 1),    sent(f, 0, 0, 1), sent(f, 0, 1, 1),
                                       rows(f, 1, 0),    rows(f, 1, 1),    rows(b, 1, 0),    rows(b, 1, 1),
                                       sent(b, 1, 0, 0), sent(b, 1, 1, 0), rows(b, 0, 0),    rows(b, 0, 1)};
  EXPECT_EQ(order, simulators::transfer_order(one_row(), 0).value()) << "of a group there is one";
  std::vector<std::uint32_t> gates;
  for (transfer& one : order)
    if (auto* const of_rows = std::get_if<transfers::rows>(&one)) gates.push_back(std::exchange(of_rows->gate, 0));
  EXPECT_EQ(order, expected);
  for (std::size_t i = 0; i < gates.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_EQ(gates[i] == gates[j], i / 2 == j / 2) << "rows that run together have one number";
}

TEST(TransferOrder, RunsOneByOneOnRandomPlans) {
  std::size_t merged = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    testing::generator random(seed);
    std::vector<tokens> lengths{{random.between(3000, 6000)}};
    for (int i = 0; i < 10; ++i) lengths.push_back({random.between(1, 600)});
    const shape on{.stages = static_cast<int>(random.between(1, 4)),
                   .replicas = static_cast<int>(random.between(1, 4)),
                   .chunks = seed % 3 == 0 ? 2 : 1,
                   .quantum = {16}};
    const solvers::two_phase solver{.effort = solvers::search_budget::fast()};
    const costs::quadratic cost{.per_pack = {random.ratio() * 1e-4}, .hop = {random.ratio() * 1e-4}};
    const plan p = (on.chunks == 2 ? planner{on, slicers::equal_cost{}, cost, solver, schedules::one_f_one_b{}}(lengths)
                                   : planner{on, slicers::equal_cost{}, cost, solver, schedules::list{}}(lengths))
                       .value();
    merged += p.merges.size();
    for (const std::vector<std::uint32_t>& group : simulators::joint_groups(p.merges, p.replicas.size())) {
      std::vector<transfer> order = simulators::transfer_order(p, group.back()).value();
      EXPECT_EQ(testing::detail::out_of_order(p, group, order), std::nullopt) << "seed " << seed;
      if (order.size() < 2) continue;
      std::reverse(order.begin(), order.end());
      EXPECT_NE(testing::detail::out_of_order(p, group, order), std::nullopt) << "seed " << seed;
      std::reverse(order.begin(), order.end());
      order.pop_back();
      EXPECT_NE(testing::detail::out_of_order(p, group, order), std::nullopt) << "seed " << seed;
    }
  }
  EXPECT_GT(merged, 0u);
}

// With the calls of a vocabulary that is spread over the stages, and without times, as in a plan that is written by
// hand.
TEST(TransferOrder, RunsOneByOneWithASpreadVocabulary) {
  std::size_t orders = 0, merged = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    testing::generator random(seed);
    std::vector<tokens> lengths{{random.between(3000, 6000)}};
    for (int i = 0; i < 10; ++i) lengths.push_back({random.between(1, 600)});
    const shape on{.stages = static_cast<int>(random.between(2, 4)),
                   .replicas = static_cast<int>(random.between(1, 4)),
                   .chunks = seed % 3 == 0 ? 2 : 1,
                   .quantum = {16}};
    const solvers::two_phase solver{.effort = solvers::search_budget::fast()};
    const costs::quadratic cost{.per_pack = {random.ratio() * 1e-4}, .hop = {random.ratio() * 1e-4}};
    plan p = tests::spread((on.chunks == 2
                                ? planner{on, slicers::equal_cost{}, cost, solver, schedules::one_f_one_b{}}(lengths)
                                : planner{on, slicers::equal_cost{}, cost, solver, schedules::list{}}(lengths))
                               .value())
                 .value();
    merged += p.merges.size();
    for (const bool timed : {true, false}) {
      if (!timed)
        for (replica_plan& r : p.replicas) r.times = {.apart = r.times.apart};
      for (const std::vector<std::uint32_t>& group : simulators::joint_groups(p.merges, p.replicas.size())) {
        std::vector<transfer> order = simulators::transfer_order(p, group.back()).value();
        EXPECT_EQ(testing::detail::out_of_order(p, group, order), std::nullopt) << "seed " << seed;
        order.pop_back();
        EXPECT_NE(testing::detail::out_of_order(p, group, order), std::nullopt) << "seed " << seed;
        ++orders;
      }
    }
    p.replicas[0].times.calls[instruction_kind::output] = {{1}};
    EXPECT_NE(
        simulators::transfer_order(p, 0).error().detail.find("replica 0 has 1 times of output calls, its packs need "),
        std::string::npos);
  }
  EXPECT_GT(merged, 0u);
  std::cout << orders << " orders, " << merged << " sequences shared\n";
}

TEST(TransferOrder, IsRefusedWhereProgramsOrTimesDoNotFit) {
  const auto why = [](const auto& change) {
    plan p = one_row();
    change(p);
    const auto order = simulators::transfer_order(p, 0);
    return order ? "an order" : order.error().detail;
  };
  EXPECT_EQ(why([](plan& p) { p.replicas[1].times.calls[pass::forward] = {{1}}; }),
            "replica 1 has 1 times of forward calls, its packs need 2");
  EXPECT_EQ(why([](plan& p) {
              p.replicas[1].times.messages[pass::backward] = {{1}, {-1}};
            }),
            "replica 1 has a time of backward messages that is not from 0 to 1e12 s");
  EXPECT_EQ(why([](plan& p) {
              p.replicas[1].times.apart.flags = {0, 0};
            }),
            "replica 1 says of 2 backward packs where their weight gradients run, it has 1");
  EXPECT_EQ(why([](plan& p) { p.replicas[1].programs[0].pop_back(); }),
            "replica 1: stage 0 runs 1 instructions, its packs need 2");
  EXPECT_EQ(why([](plan& p) { std::swap(p.replicas[0].programs[1][0], p.replicas[0].programs[1][1]); }),
            "replica 0: the programs wait for each other; stuck: stage 0 at B0, stage 1 at B0.");
}

}  // namespace
}  // namespace slimpack::transfer_order_test
