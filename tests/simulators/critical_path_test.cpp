#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/graph/critical_path.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"
#include "workloads.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace slimpack::critical_path_test {
namespace {

// p = 2, m = 1, f = 1, b = 2, hop 0.5: F0 1 -> hop .5 -> F0 1 -> B0 2 -> hop .5 -> B0 2, which is all there is.
TEST(CriticalPath, ListsEachSecondOfAChain) {
  const workload work = tests::uniform_work(2, 1, {{1}, {2}, {0.5}});
  simulators::task_graph graph;
  graph.assign(work, schedules::one_f_one_b{}.programs(work).value()).value();
  std::vector<seconds> start;
  ASSERT_EQ(graph.sweep(start), seconds{7});
  const std::vector<simulators::critical_task> path = simulators::critical_path(graph, start);
  ASSERT_EQ(path.size(), 6u);
  EXPECT_TRUE(path[1].what.is_message);
  EXPECT_EQ(path[1].what.stage, 0u);
  EXPECT_EQ(path[4].what.stage, 1u);
  EXPECT_EQ(path[5].start, seconds{5});
  const simulators::critical_seconds spent = simulators::seconds_on(path);
  EXPECT_EQ(spent.forward, seconds{2});
  EXPECT_EQ(spent.backward, seconds{4});
  EXPECT_EQ(spent.messages, seconds{1});
}

TEST(CriticalPath, IsEmptyWithoutPacks) {
  simulators::task_graph graph;
  graph.assign(tests::uniform_work(2, 0, {}), std::vector<program>(2)).value();
  EXPECT_TRUE(simulators::critical_path(graph, {}).empty());
}

TEST(CriticalPath, HasNoGapsAndAddsUpToTheMakespan) {
  testing::generator random(21);
  for (int i = tests::cases(60); i > 0; --i) {
    const workload work = testing::any_replica({.longest = {32768}}, random).work;
    simulators::task_graph graph;
    graph.assign(work, schedules::list{}.programs(work).value()).value();
    std::vector<seconds> start;
    const seconds makespan = graph.sweep(start);
    const std::vector<simulators::critical_task> path = simulators::critical_path(graph, start);
    seconds at{};
    for (const simulators::critical_task& c : path) {
      ASSERT_EQ(c.start, at) << "seed 21";
      at = c.start + c.what.duration;
    }
    EXPECT_EQ(at, makespan);
    const simulators::critical_seconds spent = simulators::seconds_on(path);
    EXPECT_NEAR((spent.forward + spent.backward + spent.messages).value, makespan.value, 1e-9 * makespan.value);
  }
}

}  // namespace
}  // namespace slimpack::critical_path_test
