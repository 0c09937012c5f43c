#include <slimpack/simulators/boost_graph.hpp>

#include <slimpack/planner.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/detail/longest_paths.hpp>
#include <slimpack/simulators/graph/makespan.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/testing/random_replica.hpp>
#include <slimpack/testing/simulator_laws.hpp>

#include "../laws/cases.hpp"
#include "workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace slimpack::boost_graph_test {
namespace {

void expect_agreement(const workload& work, const std::vector<program>& programs) {
  simulators::task_graph graph;
  ASSERT_TRUE(graph.assign(work, programs).has_value());
  EXPECT_EQ(simulators::boost_graph{}.starts(graph).value(), simulators::sweep{}.starts(graph).value());
  EXPECT_EQ(simulators::boost_graph{}.tails(graph).value(), simulators::sweep{}.tails(graph).value());
  std::vector<seconds> start;
  EXPECT_EQ(simulators::makespan(work, programs).value(), graph.sweep(start));
}

seconds makespan_of(const simulators::task_graph& graph) {
  return simulators::ends_of(graph, simulators::boost_graph{}.starts(graph).value(), 1).front();
}

TEST(BoostGraph, ObeysTheLawsOfSimulators) {
  const testing::report found =
      testing::simulator_laws(simulators::boost_graph{}, {.cases = tests::cases(40), .longest = {32768}, .chunks = 3});
  EXPECT_TRUE(found) << found;
}

TEST(Sweep, ObeysTheLawsOfSimulators) {
  const testing::report found =
      testing::simulator_laws(simulators::sweep{}, {.cases = tests::cases(40), .longest = {32768}, .chunks = 3});
  EXPECT_TRUE(found) << found;
}

// p = 4, m = 8, F 1 s, B 2 s: (m + p - 1) (F + B) = 33 s.
TEST(BoostGraph, FindsTheClosedFormOfUniform1F1B) {
  const workload work = tests::uniform_work(4, 8, {{1}, {2}});
  simulators::task_graph graph;
  graph.assign(work, schedules::one_f_one_b{.lead = 1}.programs(work).value()).value();
  EXPECT_EQ(makespan_of(graph), seconds{(8 + 4 - 1) * 3});
}

TEST(BoostGraph, AgreesExactlyWithTheSweepOnRandomPlans) {
  for (const std::uint64_t seed : {11u, 12u}) {
    SCOPED_TRACE(seed);
    testing::generator random(seed);
    for (int i = tests::cases(50); i > 0; --i) {
      const workload work = testing::any_replica({.longest = {32768}, .chunks = seed == 12 ? 3 : 1}, random).work;
      expect_agreement(work, schedules::one_f_one_b{}.programs(work).value());
      if (work.shape.chunks == 1) expect_agreement(work, schedules::list{}.programs(work).value());
    }
  }
}

TEST(BoostGraph, AgreesExactlyWhereDurationsAreNoDecimals) {
  testing::generator random(13);
  for (int i = tests::cases(50); i > 0; --i) {
    workload work = testing::any_replica({.longest = {32768}}, random).work;
    for (const pass p : both_passes)
      for (std::vector<seconds>* times : {&work.times.calls[p], &work.times.messages[p]})
        for (seconds& s : *times) s = {random.ratio()};
    expect_agreement(work, schedules::one_f_one_b{}.programs(work).value());
  }
}

// 0 -> 1 -> 2 -> 1: no topological order begins. A task graph refuses to become one, so that its rows are given here.
TEST(BoostGraph, RefusesACycle) {
  const std::vector<simulators::task> tasks(3);
  const std::vector<std::uint32_t> rows{0, 1, 2, 3};
  const std::vector<simulators::task_graph::node> targets{1, 2, 1};
  const result<std::vector<seconds>> found = detail::longest_paths({tasks, rows, targets});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::cyclic_schedule);
}

// 0 -> 1 -> 0: the source leads to nothing.
TEST(BoostGraph, RefusesACycleThatNothingLeadsTo) {
  const std::vector<simulators::task> tasks(2);
  const std::vector<std::uint32_t> rows{0, 1, 2};
  const std::vector<simulators::task_graph::node> targets{1, 0};
  EXPECT_FALSE(detail::longest_paths({tasks, rows, targets}));
}

TEST(BasicPlanner, MakesThePlanThatThePlannerMakes) {
  const std::vector<tokens> lengths{{40000}, {512}, {3000}, {700}, {9000}, {128}};
  int k = 0;
  for (const int replicas : {3, 1}) {
    if (!tests::is_tried(k++)) continue;
    const shape on{.stages = 3, .replicas = replicas};
    const plan with_boost = planner{on}(lengths).value();
    const plan with_sweep = basic_planner{on, {}, {}, {}, {}, simulators::sweep{}}(lengths).value();
    EXPECT_EQ(with_boost.hash, with_sweep.hash);
    EXPECT_EQ(with_boost.simulator, "boost_graph");
    EXPECT_EQ(with_sweep.simulator, "sweep");
  }
}

}  // namespace
}  // namespace slimpack::boost_graph_test
