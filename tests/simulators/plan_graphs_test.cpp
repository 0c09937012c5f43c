#include <slimpack/basic_planner.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/simulators/plan_graphs.hpp>
#include <slimpack/simulators/sweep.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::plan_graphs_test {
namespace {

/// Three replicas of one stage: the first and the last share sequence 0 of 8 tokens in one row, the one between has 5
/// tokens.
plan of_two_groups() {
  solution s{std::vector<replica_solution>(3)};
  const slice own[]{{{0}, {0}, {4}}, {{1}, {0}, {5}}, {{0}, {4}, {4}}};
  for (std::size_t r = 0; r < 3; ++r) {
    for (micropacks* packs : {&s.replicas[r].partition.forward, &s.replicas[r].partition.backward})
      packs->push(own[r]), packs->close();
    s.replicas[r].sequences = {own[r].sequence};
    s.replicas[r].programs = {{{instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}}};
  }
  s.merges = {{{0}, {0, 2}, {{{0}, {0}}}, {{{0}, {0}}}}};
  struct as_given {
    solution answer;
    result<solution> solve(const problem&, const slicers::equal_cost&, const costs::quadratic&,
                           const schedules::list&) const {
      return answer;
    }
  };
  constexpr costs::quadratic cost{.linear = 1, .attention = 0, .hop = {10}};
  const shape on{.replicas = 3, .quantum = {1}};
  return basic_planner{on, slicers::equal_cost{}, cost, as_given{s}, schedules::list{}, simulators::sweep{}}(
             std::vector<tokens>{{8}, {5}})
      .value();
}

seconds end_of(const simulators::task_graph& graph, std::span<const seconds> start) {
  seconds last{};
  for (std::size_t n = 0; n < graph.size(); ++n) last = std::max(last, start[n] + graph.tasks()[n].duration);
  return last;
}

// The row takes 4 tokens and a hop forward, 14 s, and 8 s and a hop backward; the other replica 15 s.
TEST(PlanGraphs, RunEachGroupAsThePlanSays) {
  const plan p = of_two_groups();
  simulators::plan_graphs graphs(p);
  ASSERT_EQ(graphs.groups().size(), 2u);
  EXPECT_EQ(graphs.groups()[0], (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(graphs.groups()[1], (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(graphs.position(0), 0u);
  EXPECT_EQ(graphs.position(1), 0u);
  EXPECT_EQ(graphs.position(2), 1u);
  for (const std::size_t replica : {0u, 1u, 2u}) {
    ASSERT_TRUE(graphs.select(replica));
    EXPECT_EQ(graphs.start().size(), graphs.graph().size());
    EXPECT_EQ(end_of(graphs.graph(), graphs.start()), seconds{replica == 1 ? 15.0 : 14.0 + 18.0}) << replica;
    EXPECT_EQ(end_of(graphs.graph(), graphs.start()), p.replicas[replica].makespan) << replica;
    EXPECT_EQ(graphs.work(replica).times.calls[pass::forward], p.replicas[replica].times.calls[pass::forward])
        << replica;
  }
}

/// Counts its runs, of which one fails.
struct counting {
  int* runs;
  int fails;
  [[nodiscard]] result<std::vector<seconds>> starts(const simulators::task_graph& graph) const {
    if (++*runs == fails) return error{errc::invalid_input, "told to fail"};
    return simulators::sweep{}.starts(graph);
  }
};

// Replicas 0 and 2 are of one group; the graph of one group is there at a time.
TEST(PlanGraphs, RunASimulatorOnceAGroup) {
  const plan p = of_two_groups();
  int runs = 0;
  simulators::plan_graphs graphs(p, counting{&runs, 0});
  for (const auto& [replica, ran] : {std::pair{0u, 1}, {2u, 1}, {0u, 1}, {1u, 2}, {1u, 2}, {2u, 3}}) {
    ASSERT_TRUE(graphs.select(replica));
    EXPECT_EQ(runs, ran) << replica;
  }
}

// What a simulator refuses is not there, and neither is what was there before: both are asked for again.
TEST(PlanGraphs, SayWhatTheSimulatorSays) {
  const plan p = of_two_groups();
  int runs = 0;
  simulators::plan_graphs graphs(p, counting{&runs, 2});
  ASSERT_TRUE(graphs.select(1));
  EXPECT_EQ(graphs.select(0).error().detail, "told to fail");
  for (const std::size_t replica : {1u, 0u}) {
    ASSERT_TRUE(graphs.select(replica));
    EXPECT_EQ(end_of(graphs.graph(), graphs.start()), p.replicas[replica].makespan);
  }
  EXPECT_EQ(runs, 4);
}

// Replica 2 runs its half of the row backward before it has run forward.
TEST(PlanGraphs, RefuseProgramsThatWaitForEachOther) {
  plan p = of_two_groups();
  p.replicas[2].programs = {{{instruction_kind::backward, {0}}, {instruction_kind::forward, {0}}}};
  simulators::plan_graphs graphs(p);
  EXPECT_EQ(graphs.select(2).error().code, errc::cyclic_schedule);
}

}  // namespace
}  // namespace slimpack::plan_graphs_test
